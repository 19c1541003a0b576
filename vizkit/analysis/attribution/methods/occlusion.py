"""Occlusion, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.input_attribution import occlusion
    from vizkit.analysis.attribution.subject import cells_of

    return occlusion(given.subject, cells_of(given.trace), fill=given.fill, progress=given.progress)


METHOD = Method(
    name="occlusion",
    title="Occlusion",
    needs="model",
    run=run,
    signed=True,
    logit=True,
    slow=True,
    asks="By how much does the logit fall when a square of 2 × 2 patches is covered?",
    caveat="A cover is a thing to see itself; what stands twice in the image is missed, since one of it suffices.",
    source="Zeiler & Fergus 2014 (arXiv 1311.2901), § 4.2",
)
