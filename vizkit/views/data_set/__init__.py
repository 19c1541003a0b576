"""A set of labelled images as one model sees it: what lies together, what is suspect, what the answers rest on."""

from functools import partial

from vizkit.views.entry import Entry, Former, Only

__all__ = ["VIEWS"]

# Images whose faults are known are shown by the model that learned from them, whatever is chosen.
PLANTED, PLANTED_WORDS, TAUGHT = "digits:faulty", "digits with planted faults", "bundled:digits_faulty"
ONLY = Only("data", "data_set", PLANTED, PLANTED_WORDS, reads=False, usual=True, model=TAUGHT)
_entry = partial(Entry, reads="models", only=ONLY)
VIEWS = (
    _entry(
        "Map",
        "Which images the model represents alike, and which of them it gets wrong.",
        "data_set.plane:Plane",
        formerly=(Former("Probe", name="data-probe", fields={each: each for each in ("data", "folder", "images")}),),
        name="data-map",
    ),
    _entry(
        "Suspects",
        "Wrong labels, near copies, strangers, dark and blurred images: keep or mend.",
        "data_set.suspects:Suspects",
        name="data-suspects",
    ),
    _entry(
        "Shortcuts",
        "Images of one label in which the model looks at the same odd place, and its answers without it.",
        "data_set.shortcuts:Shortcuts",
        name="data-shortcuts",
    ),
    _entry(
        "Who taught this?",
        "The training images that speak most for and against an error.",
        "data_set.taught:Taught",
        name="data-taught",
    ),
)
