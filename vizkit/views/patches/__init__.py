"""The image as the sequence that a transformer reads, and what it costs."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Cut",
        "The image in patches, and each patch as a row of numbers.",
        "patches.cut:Cut",
        "transformer",
        name="cut",
        page="patches",
    ),
    Entry(
        "Compare in depth",
        "Cosine similarity of the chosen patch with all others, after every block.",
        "patches.depth:Depth",
        name="similarity-in-depth",
        page="patches",
    ),
    Entry(
        "Filters",
        "The patterns that the patch embedding responds to.",
        "patches.filters:Filters",
        "transformer",
        reads="models",
        name="patch-filters",
        page="patches",
    ),
    Entry(
        "Token norms by layer",
        "The norm of every token's vector after each layer.",
        "patches.token_norms:TokenNorms",
        formerly=(Former("Norms"),),
        name="token-norms",
        page="patches",
    ),
    Entry(
        "Cost",
        "What patch size and image size cost.",
        "patches.cost:Cost",
        "transformer",
        name="patch-cost",
        page="patches",
    ),
)
