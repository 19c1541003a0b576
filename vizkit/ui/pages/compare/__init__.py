"""The same images in several models: what they answer, where they look, what they cost."""

from vizkit.ui.views import View

VIEWS = (
    View("Predictions", "What every model answers, and where they disagree.", "predictions", fragment=False),
    View("Maps", "Where every model looks, by one method.", "maps", fragment=False),
    View("Cost", "Multiply–adds, memory and time of every model.", "cost", fragment=False),
    View("Robustness", "What the answers withstand when the image is changed.", "robustness", fragment=False),
)
