"""Convolutional networks, seen with the same eyes as transformers."""

from vizkit.ui.views import View

VIEWS = (
    View("Activations", "What lets a network bend: the curves, and how much gradient they pass.", "activations", ""),
)
