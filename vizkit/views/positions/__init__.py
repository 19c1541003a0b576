"""How a transformer knows where a patch is."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Shuffle",
        "What happens if the order is lost? The same patches in another order, with and without positions.",
        "positions.shuffle:Shuffle",
        "transformer",
        answers=True,
        name="shuffle",
    ),
    Entry(
        "What positions know",
        "How near two patches are: the model's own positions, beside learned, sinusoidal, relative and rotary ones.",
        "positions.similarity:PositionSimilarity",
        "transformer",
        formerly=(
            Former("Kinds", name="position-kinds"),
            Former("Learned", name="learned-positions", fields={"grid": "grid"}, settings={"kind": "learned"}),
            Former("Sinusoids", name="sinusoids", settings={"kind": "sinusoids"}),
        ),
        name="position-similarity",
    ),
)
