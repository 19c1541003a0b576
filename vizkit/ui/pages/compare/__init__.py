"""The same images in several models: their predictions, maps, cost and robustness."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Predictions",
        "What every model predicts, and where the models disagree.",
        "predictions",
        fragment=False,
        answers=True,
    ),
    View("Cost", "Multiply–adds, memory and time of every model.", "cost", fragment=False),
    View(
        "Robustness",
        "How the predictions change when the image is changed.",
        "robustness",
        fragment=False,
        answers=True,
    ),
)
