"""One head step by step, statistics of all heads, and the mask of a decoder."""

from vizkit.views.entry import Entry

VIEWS = (
    Entry(
        "Walk-through",
        "One query in one head, step by step, in the model's own numbers.",
        "attention.walkthrough:WalkThrough",
        "transformer",
        name="walk-through",
        page="attention",
    ),
    Entry(
        "Explorer",
        "A head of a layer, or all of them fused, as a map and as the whole matrix.",
        "attention.explorer:Explorer",
        "transformer",
        name="fused-heads",
        page="attention",
    ),
    Entry(
        "Statistics",
        "How far and how evenly every head attends, and to which tokens.",
        "attention.statistics:Statistics",
        "transformer",
        name="head-statistics",
        page="attention",
    ),
    Entry(
        "Masked",
        "The causal mask of a decoder.",
        "attention.masked:Masked",
        "",
        reads="nothing",
        name="causal-mask",
        page="attention",
    ),
    Entry(
        "Entropy",
        "How evenly every patch spreads its attention, layer by layer.",
        "attention.entropy:Entropy",
        "transformer",
        name="entropy",
        page="attention",
    ),
)
