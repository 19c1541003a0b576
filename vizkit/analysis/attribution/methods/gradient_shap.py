"""GradientShap, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.input_attribution import gradient_shap

    return gradient_shap(given.subject, progress=given.progress)


METHOD = Method(
    name="gradient_shap",
    title="GradientShap",
    needs="model",
    run=run,
    signed=True,
    logit=True,
    slow=True,
    asks="How is the change of the logit from several empty images to noisy copies of this one shared out?",
    caveat="Points are drawn at random, so the shares add up only roughly.",
    source="Lundberg & Lee 2017 (arXiv 1705.07874), as Captum draws it",
)
