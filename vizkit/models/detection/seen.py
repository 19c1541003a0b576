"""One picture through a DETR, and all that its attention saw."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from vizkit.image import RGB
from vizkit.models.detection.opening import Detector
from vizkit.models.detection.tracing import trace_layers
from vizkit.models.networks.detr import Answers
from vizkit.traces import Trace, TraceError

__all__ = ["Seen", "look"]


@dataclass(frozen=True, eq=False)
class Seen:
    """`picture` as it was given, of any size; `grid`: rows and columns of the memory's cells. `layers`: the answers
    after each decoder layer, of one image. Weights after softmax, by layer: of the `encoder` from cell to cell, `cross`
    from query to cell, `among` from query to query, empty where queries did not look at each other."""

    picture: RGB
    grid: tuple[int, int]
    layers: tuple[Answers, ...]
    encoder: tuple[Float[Tensor, "_head _cell _cell"], ...]
    cross: tuple[Float[Tensor, "_head _query _cell"], ...]
    among: tuple[Float[Tensor, "_head _query _query"], ...]
    memory: Float[Tensor, "_cell _dim"]


def look(detector: Detector, picture: RGB, *, self_attention: bool = True) -> Seen:
    """Without `self_attention` every query looks at itself alone, in every decoder layer of this pass.

    Raises TraceError where the recorded weights are not what the network used.
    """
    trace, layers = trace_layers(detector, picture, self_attention=self_attention)
    if trace.check.failure:
        raise TraceError(trace.check.failure)
    (memory,) = trace.features
    assert memory.tokens.grid
    return Seen(picture, memory.tokens.grid, layers, _between(trace, "cells", "cells"),
                _between(trace, "queries", "cells"), _between(trace, "queries", "queries"), memory.values)  # fmt: skip


def _between(trace: Trace, query: str, key: str) -> tuple[Tensor, ...]:
    """The weights of all layers in which these tokens look at those."""
    return tuple(layer.weights[0] for layer in trace.attention if (layer.query.name, layer.key.name) == (query, key))
