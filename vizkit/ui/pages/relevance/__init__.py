"""Evidence for a class, by every method that applies, and how far the maps can be believed."""

from vizkit.ui.views import View

VIEWS = (
    View("Maps", "Evidence for a class, by every method that applies.", "maps", answers=True),
    View(
        "Trust", "How far each map can be believed: the model is run on changed images.", "trust", "classes",
        answers=True,
    ),
)  # fmt: skip
