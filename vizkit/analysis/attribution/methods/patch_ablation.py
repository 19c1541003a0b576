"""Patch ablation, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.input_attribution import patch_ablation
    from vizkit.analysis.attribution.subject import cells_of

    return patch_ablation(given.subject, cells_of(given.trace), given.fill, given.progress)


METHOD = Method(
    name="patch_ablation",
    title="Patch ablation",
    needs="model",
    run=run,
    signed=True,
    logit=True,
    slow=True,
    asks="By how much does the logit fall when one patch is replaced?",
    caveat="One patch alone often changes little, though several together would; the replacement is seen too.",
    source="Zeiler & Fergus 2014 (arXiv 1311.2901), with patches; Captum's FeatureAblation",
)
