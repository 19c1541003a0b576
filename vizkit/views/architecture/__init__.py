"""Whole networks as one figure, and two architectures with coarser tokens."""

from vizkit.views.entry import Entry, Former

__all__ = ["VIEWS"]

VIEWS = (
    Entry(
        "Network",
        "The whole network as one figure, with what every block makes of this image: click a block to open it.",
        "architecture.network:Network",
        answers=True,
        formerly=(
            Former("Block", name="drawn-block", fields={"head": "head", "part": "part"}),
            Former("Flow"),
            Former("TNT", name="tnt"),
            Former("From parts", name="vit-from-parts"),
        ),
        name="flow",
    ),
    Entry(
        "Coarser tokens",
        "Coarse patches beside fine ones, or tokens that are averaged between the blocks.",
        "architecture.coarser:CoarserTokens",
        "dual_scale",
        answers=True,
        beside="gradual_reduction",
        formerly=(
            Former("Dual-scale", name="dual-scale", fields={"alpha": "alpha", "head": "head"}),
            Former("Gradual reduction", name="gradual-reduction"),
        ),
        name="coarser-tokens",
    ),
)
