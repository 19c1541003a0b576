"""Intervene: change what a model does, and see what follows."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Switches",
        "Hide, erase, exchange or paste patches, switch heads off: the answer and its maps before and after.",
        "intervene.switches:Switches",
        answers=True,
        name="switches",
    ),
    Entry(
        "Smallest set",
        "A greedy search for the fewest patches or heads that keep the answer, or without which it falls.",
        "intervene.smallest:Smallest",
        "answers",
        answers=True,
        name="smallest-set",
    ),
    Entry(
        "Patching",
        "Where is the evidence, and after which block? Parts of the clean run are put into a corrupted one.",
        "intervene.patching:Patching",
        "transformer",
        answers=True,
        name="patching",
    ),
    Entry(
        "Steer",
        "The direction of a class, or of another image, is added to what a block gives, more and more of it.",
        "intervene.steer:Steer",
        "transformer",
        answers=True,
        name="steer",
    ),
    Entry(
        "Heads",
        "What each head looks at, and what the answers lose without it.",
        "intervene.heads:Heads",
        "transformer",
        reads="models",
        name="heads",
    ),
    Entry(
        "When does the answer appear?",
        "What the model would answer after every layer, and what each layer and head adds to the answer.",
        "intervene.lenses:Lenses",
        "transformer",
        answers=True,
        formerly=(
            Former("Lenses"),
            Former("Direct attribution", name="direct-attribution", fields={"target": "target", "against": "against"}),
        ),
        name="lenses",
    ),
)
