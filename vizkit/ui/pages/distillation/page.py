"""The Distillation page: what a teacher knows beside its answer, and how a student learns it."""

from importlib import import_module

from vizkit.image import Picture
from vizkit.ui.session.shown import choose_view

VIEWS = {  # name → module of this folder, each with `view(picture, sources)`; imported when it is opened
    "Temperature": "temperature",
    "Teacher and student": "pair",
    "Two tokens": "tokens",
    "Does it help?": "runs",
    "Augmentation": "augmentation",
}


def view(picture: Picture, sources: list[str]) -> None:
    """`sources`: the models of the sidebar; there may be none, which each view says itself."""
    chosen = choose_view("distillation_view", tuple(VIEWS))
    import_module(f"{__package__}.{VIEWS[chosen]}").view(picture, sources)
