"""One layer: where a query attends, or how strongly the stage of a network without attention responds."""

from dataclasses import dataclass

import numpy as np

from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.figure.saved.single import MapOf
from vizkit.geometry import Box, cell_of, name_of
from vizkit.models import Loaded
from vizkit.report.kinds.record import Drawn
from vizkit.traces import NotApplicable, Tokens, Trace
from vizkit.views.subject import Subject

__all__ = ["Attention", "Features", "cell_box", "failure_of", "queried"]


@dataclass(frozen=True)
class Attention:
    """`query`: a special token by name, or a point in fractions (x, y) of what the model saw. `layer` counts from 1,
    `head` from 0, None being the mean of all. `shared`: colours end at the largest weight of the layer, not of the
    map."""

    query: str | tuple[float, float]
    layer: int
    head: int | None = None
    shared: bool = False

    def stem(self, loaded: Loaded) -> str:
        which = "mean" if self.head is None else f"head{self.head + 1}"
        return f"attention_layer{self.layer}_{which}_{queried(self.query)}"

    def drawn(self, inputs: Subject) -> Drawn:
        trace = inputs.trace(self.query)
        recorded = layers(trace)
        if not recorded:
            raise NotApplicable(trace.no_attention + ".")
        number = min(max(self.layer, 1), len(recorded))
        layer = recorded[number - 1]
        if self.head is None or layer.weights.shape[1] < layer.heads:  # very many weights: the mean alone is recorded
            head, which = None, f"mean of {layer.heads} heads" if layer.heads > 1 else "its one head"
        else:
            head = min(max(self.head, 0), layer.heads - 1)
            which = f"head {head + 1} of {layer.heads}"
        shown = attention_map(layer, self.query, head)
        places = shown.places.numpy()
        top = float(layer.weights.max()) if self.shared else float(places.max())
        ends = "colours end at the largest weight of the layer" if self.shared else "colours end at the map's largest"
        special = "".join(f" · {100 * weight:.3g} % to [{name}]" for name, weight in shown.special.items())
        query = f"Query: {name_of(layer.query, shown.query_id)}{special}"
        picture = MapOf(places, 0.0, top, f"share of the query's attention; {ends}",
                        marked=cell_box(layer.query, shown.query_id))  # fmt: skip
        return Drawn(
            f"Attention: layer {number} of {len(recorded)}, {which}",
            (query, *failure_of(trace)),
            picture,
            {"places": places, "special": np.array(list(shown.special.values())),
             "special_names": np.array(list(shown.special), dtype=str)},
        )  # fmt: skip


@dataclass(frozen=True)
class Features:
    """`layer`: the stage, counted from 1."""

    layer: int

    def stem(self, loaded: Loaded) -> str:
        return f"features_stage{self.layer}"

    def drawn(self, inputs: Subject) -> Drawn:
        trace = inputs.trace((0.5, 0.5))
        if not trace.features:
            raise NotApplicable("This model has no stages to show.")
        number = min(max(self.layer, 1), len(trace.features))
        places = feature_strength(trace.features[number - 1]).numpy()
        picture = MapOf(places, 0.0, float(places.max()), "length of the feature vector at each place", unit="")
        title = f"Strength of features: stage {number} of {len(trace.features)}"
        return Drawn(title, failure_of(trace), picture, {"places": places})


def queried(query: str | tuple[float, float]) -> str:
    """A part of a file's name: the token, or where its patch lies, in hundredths from the left and the top."""
    return query if isinstance(query, str) else "patch_x{:.0f}_y{:.0f}".format(*(100 * part for part in query))


def cell_box(tokens: Tokens, token_id: int) -> Box | None:
    """Where a token lies in the model's input, in fractions; None for those without a place."""
    cell = cell_of(tokens, token_id)
    if cell is None or tokens.grid is None:
        return None
    (row, column), (rows, columns) = cell, tokens.grid
    return column / columns, row / rows, (column + 1) / columns, (row + 1) / rows


def failure_of(trace: Trace) -> tuple[str, ...]:
    """The sentence that has to stand beside the pictures of a trace whose proof failed."""
    return (trace.check.failure,) if trace.check.failure else ()
