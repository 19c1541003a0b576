"""The same images in several models: their predictions, maps, cost and robustness."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Robustness",
        "How the predictions change when the image is changed.",
        "robustness",
        fragment=False,
        answers=True,
    ),
)
