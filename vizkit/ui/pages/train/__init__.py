"""Train a model, watch it learn, compare runs."""

from functools import partial

from vizkit.ui.views import View
from vizkit.views.entry import Former

_view = partial(View, needs="", fragment=False, reads="nothing", page="train")
VIEWS = (
    _view("Watch", "A run at work, or one that has ended, played again.", "watch"),
    _view(
        "Start",
        "Choose data, model and recipe, and start a run.",
        "start",
        formerly=(Former("Augmentation", "distillation"),),
    ),
    _view("Runs", "The curves and results of several runs.", "all_runs", formerly=(Former("Compare"),)),
)
