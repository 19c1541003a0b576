"""Where does every layer and head attend? One image in one to four models, side by side, under one cursor."""

from vizkit.ui.views import View

VIEWS = (View("Cards", "Where every layer and head attends, all models side by side.", "cards", answers=True),)


def waiting() -> None:
    from vizkit.ui.pages.explore import first

    if first.applies():
        first.show()
