"""Intervene: change what a model does, and see what follows."""

from functools import partial

from vizkit.views.entry import Entry

_entry = partial(Entry, page="intervene")
VIEWS = (
    _entry(
        "Switches",
        "Hide, erase, exchange or paste patches, switch heads off: the answer and its maps before and after.",
        "intervene.switches:Switches",
        answers=True,
        name="switches",
    ),
    _entry(
        "Smallest set",
        "A greedy search for the fewest patches or heads that keep the answer, or without which it falls.",
        "intervene.smallest:Smallest",
        "answers",
        answers=True,
        name="smallest-set",
    ),
    _entry(
        "Patching",
        "Where is the evidence, and after which block? Parts of the clean run are put into a corrupted one.",
        "intervene.patching:Patching",
        "transformer",
        answers=True,
        name="patching",
    ),
    _entry(
        "Steer",
        "The direction of a class is added to what a block gives, more and more of it.",
        "intervene.steer:Steer",
        "transformer",
        answers=True,
        name="steer",
    ),
    _entry(
        "Heads",
        "What each head looks at, and what the answers lose without it.",
        "intervene.heads:Heads",
        "transformer",
        reads="models",
        name="heads",
    ),
    _entry(
        "Lenses",
        "What would the model answer if it ended earlier? Its head after every layer.",
        "intervene.lenses:Lenses",
        "transformer",
        answers=True,
        name="lenses",
    ),
    _entry(
        "Direct attribution",
        "The logit as a sum: what each head and each MLP adds to it.",
        "intervene.direct:Direct",
        "transformer",
        answers=True,
        name="direct-attribution",
    ),
    _entry(
        "Similarity",
        "How alike layers represent the same pictures, in one model or in two.",
        "intervene.similarity:LayerSimilarity",
        reads="models",
        name="layer-similarity",
    ),
    _entry(
        "Deciding parts",
        "Gills, case or wing pads erased: how much more that costs the models than other pixels.",
        "intervene.deciding:DecidingParts",
        "",
        reads="picture",
        name="deciding-parts",
    ),
)
