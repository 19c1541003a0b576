"""The model as a flow of blocks, and four architectures taken apart."""

from vizkit.ui.views import View

VIEWS = (
    View("Flow", "Every block with what leaves it, and its share of the work.", "flow"),
    View("Dual-scale", "Two grids on one image, and the merging of their scores.", "dual", "dual_scale", query="patch"),
    View(
        "Gradual reduction",
        "What is left of the image after each averaging of tokens.",
        "gradual",
        "gradual_reduction",
        query="patch",
    ),
    View("TNT", "Attention inside one patch, and attention between patches.", "tnt", "tnt", query="patch"),
)
