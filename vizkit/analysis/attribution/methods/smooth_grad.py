"""SmoothGrad, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.input_attribution import smooth_grad

    return smooth_grad(given.subject, progress=given.progress)


METHOD = Method(
    name="smooth_grad",
    title="SmoothGrad",
    needs="model",
    run=run,
    slow=True,
    asks="How strongly would a small change of each pixel move the logit, up or down, on the mean of noisy copies?",
    caveat="It is the slope for small changes, not what the pixel contributes now; it shows no sign.",
    source="Smilkov et al. 2017 (arXiv 1706.03825), § 3.1",
)
