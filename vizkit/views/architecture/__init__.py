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
        "Dual-scale",
        "The image is cut twice, and one attention mixes the scores of both cuts: α = 1 takes those of the fine one "
        "alone, α = 0 those of the coarse one.",
        "architecture.dual:DualScale",
        "dual_scale",
        answers=True,
        name="dual-scale",
        page="architecture",
    ),
    Entry(
        "Gradual reduction",
        "What is left of the image after each averaging of tokens.",
        "architecture.gradual:GradualReduction",
        "gradual_reduction",
        name="gradual-reduction",
        page="architecture",
    ),
    Entry(
        "Is it worth it?",
        "What two scales, or fewer and fewer tokens, gain and cost: five models that are equal in all else.",
        "architecture.worth:IsItWorthIt",
        "",
        reads="picture",
        name="is-it-worth-it",
        page="architecture",
    ),
    Entry(
        "TNT",
        "Attention inside one patch and between patches: with random weights, unless a trained TNT is opened.",
        "architecture.tnt:TNT",
        "tnt",
        name="tnt",
        page="architecture",
    ),
    Entry(
        "From parts",
        "The code of a ViT, part by part, beside the tensors of this image.",
        "architecture.from_parts:FromParts",
        "vit",
        answers=True,
        name="vit-from-parts",
        page="architecture",
    ),
)
