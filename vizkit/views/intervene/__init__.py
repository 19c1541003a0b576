"""Intervene: change what a model does, and see what follows."""

from functools import partial

from vizkit.views.entry import Entry

__all__ = ["VIEWS"]

_entry = partial(Entry, page="intervene")
CLASSES = "transformer with classes"
VIEWS = (
    _entry(
        "Switches",
        "Hide, erase, exchange or paste patches, switch heads off: the answer and its maps before and after.",
        "intervene.switches:Switches",
        name="switches",
    ),
    _entry(
        "Patching",
        "Where is the evidence, and after which block? Parts of the clean run are put into a corrupted one.",
        "intervene.patching:Patching",
        CLASSES,
        name="patching",
    ),
    _entry(
        "Steer",
        "The direction of a class is added to what a block gives, more and more of it.",
        "intervene.steer:Steer",
        CLASSES,
        name="steer",
    ),
    _entry(
        "Direct attribution",
        "The logit as a sum: what each head and each MLP adds to it.",
        "intervene.direct:Direct",
        CLASSES,
        name="direct-attribution",
    ),
)
