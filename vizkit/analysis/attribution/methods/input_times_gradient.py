"""Input × gradient: the first-order share of every pixel in the logit."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "Tensor":
    import torch

    pixels = given.subject.pixels.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(given.subject.score(pixels).sum(), pixels)
    return (gradient * pixels.detach())[0].sum(0)  # height width


METHOD = Method(
    name="input_times_gradient",
    title="Input × gradient",
    needs="model",
    run=run,
    signed=True,
    logit=True,
    asks="How much of the logit would each pixel give, were the model linear with the slope that it has here?",
    caveat="The model is not linear; the map is grainy, and zero where the image has the model's own mean colour.",
    source="Shrikumar et al. 2016 (arXiv 1605.01713); 2017 (arXiv 1704.02685), § 2.2",
)
