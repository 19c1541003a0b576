"""The heads of one layer fused: where a query attends in the mean, or in any, or in all of them."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.attention_map import find_query, layers
from vizkit.analysis.attention.fusion import Fusion, fuse
from vizkit.analysis.attention.value_weighted import value_weighted
from vizkit.figure.saved.single import MapOf
from vizkit.geometry import name_of
from vizkit.models import Loaded, pixels_of
from vizkit.models.probes.parts import Parts, attention_parts
from vizkit.report.kinds.attention import cell_box, failure_of, queried
from vizkit.report.kinds.record import Drawn
from vizkit.traces import NotApplicable
from vizkit.views.subject import Subject

__all__ = ["Fused", "fused_heads"]


@dataclass(frozen=True)
class Fused:
    """`query`, `layer`: as of `Attention`. `by_values`: weights times the lengths of what they bring."""

    query: str | tuple[float, float]
    layer: int
    fusion: Fusion = "mean"
    by_values: bool = False

    def stem(self, loaded: Loaded) -> str:
        weighted = "_by_values" if self.by_values else ""
        return f"attention_layer{self.layer}_{self.fusion}{weighted}_{queried(self.query)}"

    def drawn(self, inputs: Subject) -> Drawn:
        trace = inputs.trace(self.query)
        recorded = layers(trace)
        if not recorded:
            raise NotApplicable(trace.no_attention + ".")
        number = min(max(self.layer, 1), len(recorded))
        query_id, _ = find_query(recorded[number - 1], self.query)
        loaded = inputs.loaded
        parts = attention_parts(loaded, pixels_of(loaded, inputs.rgb), number - 1, token_id=query_id)
        keys = parts.key_tokens
        if keys.grid is None:
            raise NotApplicable("Where the keys of this layer lie in the image is not known, so no map is drawn.")
        row = fused_heads(parts, self.fusion, self.by_values)[parts.query_ids.tolist().index(query_id)]
        there = parts.key_ids >= 0
        every = torch.zeros(len(keys)).index_add(0, parts.key_ids[there], row[there].cpu())
        places = every[len(keys.special) :].reshape(keys.grid).numpy()
        what = "weight times the length of what it brings" if self.by_values else "share of the query's attention"
        return Drawn(
            f"Attention: layer {number} of {len(recorded)}, {self.fusion} of {len(parts.weights)} heads",
            (f"Query: {name_of(parts.tokens, query_id)}", *failure_of(trace)),
            MapOf(places, 0.0, float(places.max()), f"{what}; colours end at the map's largest",
                  unit="" if self.by_values else "%", marked=cell_box(parts.tokens, query_id)),
            {"places": places, "special": every[: len(keys.special)].numpy(),
             "special_names": np.array(keys.special, dtype=str)},
        )  # fmt: skip


def fused_heads(parts: Parts, fusion: Fusion, by_values: bool) -> Float[Tensor, "query key"]:
    """Raises NotApplicable where what a weight brings is not known."""
    if not by_values:
        return fuse(parts.weights, fusion)
    if not parts.plain:
        raise NotApplicable("This layer normalises or gates its heads before the projection; the norm has no meaning.")
    return fuse(value_weighted(parts.weights, parts.value, parts.out_weight), fusion)
