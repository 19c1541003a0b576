"""Where does every layer and head attend? One image in one to four models, side by side, under one cursor."""

VIEWS = ()


def waiting() -> None:
    from vizkit.ui.pages.explore import first

    if first.applies():
        first.show()
