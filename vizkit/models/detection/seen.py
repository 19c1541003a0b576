"""One picture through a DETR, and all that its attention saw."""

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor

from vizkit.image import RGB
from vizkit.models.detection.opening import Detector
from vizkit.models.detection.tracing import trace_layers
from vizkit.models.networks.detr import Answers
from vizkit.traces import Trace, TraceError


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

    def of_query(self, layer: int, query: int, head: int | None = None) -> Float[Tensor, "row column"]:
        """Where a query looks in decoder layer 0, 1, …: the weights of one head, or their mean."""
        weights = self.cross[layer][:, query]
        return (weights.mean(0) if head is None else weights[head]).view(self.grid)


class Sure(NamedTuple):
    """What queries say of one picture, the surest first. `scores`: 0 to 1."""

    queries: Int[Tensor, " detection"]
    labels: Int[Tensor, " detection"]
    scores: Float[Tensor, " detection"]
    boxes_cxcywh: Float[Tensor, "detection 4"]


def sure(answers: Answers, threshold: float) -> Sure:
    """Of one picture, those queries whose likeliest class but "no object" has that probability at least."""
    scores, labels = answers.logits[0].float().softmax(-1)[:, :-1].max(-1)
    order = scores.argsort(descending=True, stable=True)
    order = order[scores[order] >= threshold]
    return Sure(order, labels[order], scores[order], answers.boxes_cxcywh[0].float()[order])


def look(detector: Detector, picture: RGB, *, self_attention: bool = True) -> Seen:
    """Without `self_attention` every query looks at itself alone, in every decoder layer of this pass.

    Raises TraceError where the recorded weights are not what the network used.
    """
    trace, layers = trace_layers(detector, picture, self_attention=self_attention)
    if trace.check.failure:
        raise TraceError(trace.check.failure)
    (memory,) = trace.features
    assert memory.tokens.grid
    return Seen(
        picture,
        memory.tokens.grid,
        layers,
        _between(trace, "cells", "cells"),
        _between(trace, "queries", "cells"),
        _between(trace, "queries", "queries"),
        memory.values,
    )


def _between(trace: Trace, query: str, key: str) -> tuple[Tensor, ...]:
    """The weights of all layers in which these tokens look at those."""
    return tuple(layer.weights[0] for layer in trace.attention if (layer.query.name, layer.key.name) == (query, key))
