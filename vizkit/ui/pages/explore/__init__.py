"""Where does every layer and head attend? One image in one to four models, side by side, under one cursor."""

from collections.abc import Callable

VIEWS = ()


def waiting() -> Callable[[], object] | None:
    from vizkit.ui.pages.explore import first

    return first.show() if first.applies() else None
