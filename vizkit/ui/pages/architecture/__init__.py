"""Blocks, whole models and their code as records, and three architectures taken apart."""

from vizkit.ui.views import View
from vizkit.views.architecture import VIEWS as RECORDS

_BLOCK, _FLOW, _PARTS = RECORDS
VIEWS = (
    _BLOCK,
    _FLOW,
    View("Dual-scale", "Two grids on one image, and the merging of their scores.", "dual", "dual_scale", query="patch"),
    View(
        "Gradual reduction",
        "What is left of the image after each averaging of tokens.",
        "gradual",
        "gradual_reduction",
        query="patch",
    ),
    View(
        "TNT",
        "Attention inside one patch and between patches: with random weights, unless a trained TNT is opened.",
        "tnt",
        "tnt",
        query="patch",
    ),
    _PARTS,
)
