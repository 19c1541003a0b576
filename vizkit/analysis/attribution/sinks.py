"""Sinks: single places to which a head gives much of its attention whatever asks (Xiao et al. 2024, arXiv 2309.17453;
of images Darcet et al. 2024). A product of layers carries such a place to its end, where it outshines all others."""

from dataclasses import dataclass

import torch

from vizkit.analysis.attention.attention_map import layers
from vizkit.traces import Trace, computed_there

LEAST = 0.25  # of a head's attention, in the mean over all queries
TIMES = 10.0  # an equal share: of few places one has a quarter easily


@dataclass(frozen=True)
class Sink:
    """`layer` and `head` from 1, `place` (row, column) from 0, `share` of the head's attention, 0 to 1."""

    layer: int
    head: int
    place: tuple[int, int]
    share: float


@computed_there
def sinks(trace: Trace) -> tuple[Sink, ...]:
    """Of every layer whose queries see all places and whose heads were recorded: the places that get at least `LEAST`
    of a head's attention, the mean over its queries, and `TIMES` an equal share; the largest first. It says where
    attention goes, not whether anything of it is used."""
    found = list[Sink]()
    for number, layer in enumerate(layers(trace), 1):
        if layer.key.grid is None or len(layer.weights) > 1 or layer.weights.shape[1] < layer.heads:
            continue
        columns, first = layer.key.grid[1], len(layer.key.special)
        taken = layer.weights[0].float().mean(1)  # head key
        least = max(LEAST, TIMES / (layer.key.grid[0] * columns))
        for head, key in torch.nonzero(taken >= least).tolist():
            place = int(layer.key_ids[0, key]) - first
            if place >= 0:
                found.append(Sink(number, head + 1, divmod(place, columns), float(taken[head, key])))
    return tuple(sorted(found, key=lambda sink: -sink.share))
