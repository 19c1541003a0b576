"""Intervene: change what a model does, and see what follows."""

from vizkit.views.entry import Entry

__all__ = ["VIEWS"]

VIEWS = (
    Entry(
        "Switches",
        "Hide, erase, exchange or paste patches, switch heads off: the answer and its maps before and after.",
        "intervene.switches:Switches",
        name="switches",
        page="intervene",
    ),
)
