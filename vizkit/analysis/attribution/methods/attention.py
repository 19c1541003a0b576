"""Attention of the class token in the last layer, as a record."""

from typing import TYPE_CHECKING

from vizkit.analysis.attribution.methods.record import Given, Method

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.traces import Trace


def run(given: Given) -> "Tensor":
    from vizkit.analysis.attribution.last_layer import last_layer

    return last_layer(given.trace, given.query)


def applies(trace: "Trace") -> None:
    from vizkit.analysis.attribution.last_layer import last_layer
    from vizkit.analysis.attribution.layer_product import read_by_head

    last_layer(trace, read_by_head(trace))


METHOD = Method(
    name="attention",
    title="Attention of the class token",
    needs="trace",
    run=run,
    applies=applies,
    shares=True,
    asks="How much does the class token of the last layer take from each place, on the mean of its heads?",
    caveat="It is one layer of many, and by then each place carries what it gathered from others.",
    source="Vaswani et al. 2017 (arXiv 1706.03762), eq. 1; as a map in Caron et al. 2021 (arXiv 2104.14294)",
)
