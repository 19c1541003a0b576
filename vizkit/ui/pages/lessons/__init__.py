"""Lessons: a shelf, and of a lesson one step at a time: predict, then see."""

from vizkit.ui.views import View

VIEWS = (View("Lessons", "Predict first, then see.", "page", needs=""),)


def opening() -> None:
    """A link to a lesson opens its model and its picture, where it names no others."""
    from vizkit.ui.pages.lessons import kept

    kept.follow()
