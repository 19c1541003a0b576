"""Rollout, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.traces import Trace


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.rollout import rollout

    return rollout(given.trace, given.query)


def applies(trace: "Trace") -> None:
    from vizkit.analysis.attribution.layer_product import read_by_head, start, stream

    start(stream(trace), read_by_head(trace))


METHOD = Method(
    name="rollout",
    title="Rollout",
    needs="trace",
    run=run,
    applies=applies,
    shares=True,
    asks="From which places can anything reach what the head reads when all layers' attention is multiplied?",
    caveat="It knows no class, and leaves out values, MLPs and normalisation.",
    source="Abnar & Zuidema 2020 (arXiv 2005.00928), eq. 1",
)
