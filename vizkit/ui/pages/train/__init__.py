"""Train a model, watch it learn, compare runs."""

from vizkit.ui.views import View

VIEWS = (
    View("Watch", "A run at work, or one that has ended, played again.", "watch", "", fragment=False, reads="nothing"),
    View("Start", "Choose data, model and recipe, and start a run.", "start", "", fragment=False, reads="nothing"),
    View("Compare", "The curves and results of several runs.", "compare", "", fragment=False, reads="nothing"),
)
