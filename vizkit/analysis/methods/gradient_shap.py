"""GradientShap, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "Tensor":
    from vizkit.analysis.input_attribution import gradient_shap

    return gradient_shap(given.subject, progress=given.progress)


METHOD = Method(
    name="gradient_shap",
    title="GradientShap",
    needs="model",
    run=run,
    signed=True,
    slow=True,
    asks="As integrated gradients, on the mean of several empty pictures and of noise?",
    caveat="Points are drawn at random, so the shares add up only roughly.",
    source="Lundberg & Lee 2017 (arXiv 1705.07874), as Captum draws it",
)
