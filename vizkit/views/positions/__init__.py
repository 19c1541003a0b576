"""How a transformer knows where a patch is."""

from vizkit.views.entry import Entry

VIEWS = (
    Entry(
        "Shuffle",
        "What happens if the order is lost? The same patches in another order, with and without positions.",
        "positions.shuffle:Shuffle",
        "transformer",
        answers=True,
        name="shuffle",
        page="positions",
    ),
    Entry(
        "Kinds",
        "How near two patches are: learned, sinusoidal, relative and rotary positions on one grid.",
        "positions.kinds:Kinds",
        "transformer",
        name="position-kinds",
        page="positions",
    ),
    Entry(
        "Learned",
        "Cosine similarity of the learned positions of two patches.",
        "positions.learned:Learned",
        "learned positions",
        name="learned-positions",
        page="positions",
    ),
    Entry(
        "Relative",
        "What a score gains or loses by the offset of two patches.",
        "positions.relative:Relative",
        "relative positions",
        reads="models",
        name="relative-positions",
        page="positions",
    ),
    Entry(
        "Sinusoids",
        "A fixed pattern of slow and fast waves for every position.",
        "positions.sinusoids:Sinusoids",
        "",
        reads="nothing",
        name="sinusoids",
        page="positions",
    ),
)
