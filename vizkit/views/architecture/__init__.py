"""A block as a drawing, whole models by their cost, and four architectures taken apart."""

from vizkit.views.entry import Entry

__all__ = ["VIEWS"]

VIEWS = (
    Entry(
        "Block",
        "One block drawn, with this image's tensors: click one to open it.",
        "architecture.block:DrawnBlock",
        "transformer",
        name="drawn-block",
        page="architecture",
    ),
    Entry(
        "Flow",
        "Models block by block, on one scale of cost.",
        "architecture.flow:Flow",
        name="flow",
        page="architecture",
    ),
    Entry(
        "From parts",
        "The code of a ViT, part by part, beside the tensors of this image.",
        "architecture.from_parts:FromParts",
        "vit",
        name="vit-from-parts",
        page="architecture",
    ),
)
