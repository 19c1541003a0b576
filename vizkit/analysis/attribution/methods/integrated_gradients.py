"""Integrated gradients, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method
from vizkit.percent import in_percent

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "tuple[Tensor, str]":
    from vizkit.analysis.attribution.input_attribution import COMPLETE, integrated_gradients

    integrated = integrated_gradients(given.subject, given.fill, progress=given.progress)
    note = (
        f"The sum misses the difference of the scores by {in_percent(integrated.error)}, with {integrated.steps} steps."
    )
    if integrated.error > COMPLETE:
        note += f" That is more than {in_percent(COMPLETE)}: the scores jump on the way, so read the map with care."
    return integrated.heat, note


METHOD = Method(
    name="integrated_gradients",
    title="Integrated gradients",
    needs="model",
    run=run,
    signed=True,
    logit=True,
    slow=True,
    asks="How is the change of the logit from an empty image to this one shared out among the pixels?",
    caveat="It depends on what counts as empty, is zero where the image has that very colour, and is grainy.",
    source="Sundararajan et al. 2017 (arXiv 1703.01365), eq. 1",
)
