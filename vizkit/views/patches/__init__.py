"""The image as the sequence that a transformer reads, and what it costs."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Cut",
        "From the image to the sequence: patches, rows of numbers, embeddings, tokens, and what they cost.",
        "patches.cut:Cut",
        "transformer",
        formerly=(
            Former("Filters", name="patch-filters", settings={"step": 5}),
            Former("Cost", name="patch-cost", fields={"patch": "patch", "cost_patch": "patch"}, settings={"step": 5}),
        ),
        name="cut",
    ),
)
