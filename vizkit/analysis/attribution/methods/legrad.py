"""LeGrad, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.traces import Trace


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.legrad import legrad

    return legrad(given.trace)


def applies(trace: "Trace") -> None:
    from vizkit.analysis.attribution.legrad import legrad_by_layer

    legrad_by_layer(trace)


METHOD = Method(
    name="legrad",
    title="LeGrad",
    needs="target",
    run=run,
    applies=applies,
    asks="At which places would more attention raise the answer, read off each layer on its own?",
    caveat="It is the slope of attention, not the attention paid; layers count alike.",
    differs="Here the model's own head reads every layer, in most ViTs by the class token; the authors' code for CLIP "
    "reads the last two layers by default, each by the mean of all its tokens.",
    even="It is a mean over all heads and layers, in which what they mark averages out.",
    source="Bousselham et al. 2024 (arXiv 2404.03214), § 3",
)
