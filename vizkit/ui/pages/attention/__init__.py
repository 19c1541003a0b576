"""One head step by step, statistics of all heads, and the mask of a decoder."""

from vizkit.ui.views import View

VIEWS = (View("Explorer", "The heads of a layer fused, as a map and as the whole matrix.", "explorer", "transformer"),)
