"""What speaks for a class, by every method that applies, and how far the maps can be believed."""

from vizkit.ui.views import View

VIEWS = (
    View("Maps", "What speaks for a class, by every method that applies.", "maps"),
    View("Trust", "How far each map can be believed: the model is asked again.", "trust", "classes"),
)
