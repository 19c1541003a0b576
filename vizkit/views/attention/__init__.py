"""One head as a map, as a matrix and step by step among all heads; and statistics of all heads."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Head by head",
        "One query in one head: its map, its row of the matrix, and every step to it in the model's own numbers.",
        "attention.walkthrough:WalkThrough",
        "transformer",
        formerly=(
            Former("Walk-through"),
            Former(
                "Explorer",
                name="fused-heads",
                fields={"layer": "layer", "query": "query", "by_values": "by_values"},
                settings={"query": "patch"},
            ),
        ),
        name="walk-through",
    ),
    Entry(
        "Statistics",
        "How far and how evenly every head attends, and to which tokens.",
        "attention.statistics:Statistics",
        "transformer",
        formerly=(
            Former(
                "Entropy",
                name="entropy",
                fields={"layer": "layer", "head": "head"},
                settings={"shows": "entropy"},
            ),
        ),
        name="head-statistics",
    ),
)
