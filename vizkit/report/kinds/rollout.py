"""The row of one query after several layers multiplied."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vizkit.analysis.attribution.layer_product import stream
from vizkit.analysis.attribution.rollout import Rollout, rollout_by_layer
from vizkit.figure.saved.single import MapOf
from vizkit.from_json import ReportError
from vizkit.geometry import id_of
from vizkit.models import Loaded
from vizkit.report.kinds.attention import cell_box, failure_of
from vizkit.report.kinds.record import Drawn
from vizkit.views.subject import Subject

__all__ = ["Multiplied", "ends"]

Scale = Literal["from 0", "from lowest", "shared"]


@dataclass(frozen=True)
class Multiplied:
    """`query`: as `layer_product.Query`. Layers `start` to `upto`, counted from 1, are multiplied; `fusion`, `discard`
    and `residual` as of `rollout.rollout`. `scale`: where colours begin and end, `shared` being one for all layers."""

    query: str | tuple[int, int]
    fusion: Literal["mean", "max", "min"] = "mean"
    discard: float = 0.0
    residual: float = 0.5
    start: int = 1
    upto: int = 1
    scale: Scale = "from 0"

    def stem(self, loaded: Loaded) -> str:
        whose = self.query if isinstance(self.query, str) else "row{}_column{}".format(*(n + 1 for n in self.query))
        return f"rollout_layers{self.start}-{self.upto}_{self.fusion}_{whose}"

    def drawn(self, inputs: Subject) -> Drawn:
        trace = inputs.whole()
        path = stream(trace)
        depth = sum(layer.learned for layer in path)
        if not 1 <= self.start <= self.upto <= depth:
            raise ReportError(f"There are no layers {self.start} to {self.upto}: this model has {depth}.")
        grown = rollout_by_layer(trace, self.query, self.fusion, self.discard, self.start - 1, self.residual)
        rolled = grown[self.upto - self.start]
        places = rolled.grid.numpy()
        tokens = next((layer.query for layer in reversed(path) if layer.query.grid), None)
        marked = cell_box(tokens, id_of(tokens, self.query)) if tokens and not isinstance(self.query, str) else None
        low, top = ends(rolled, grown, self.scale)
        shared = "; colours end at the largest of all layers" if self.scale == "shared" else ""
        chosen = f"heads: {self.fusion} · discarded: {self.discard:.0%} · residual: {self.residual:g}"
        return Drawn(
            f"Rollout: layers {self.start} to {self.upto} of {depth}",
            (f"Row of {_whose(rolled.query)} · {chosen}", *failure_of(trace)),
            MapOf(places, low, top, f"share of what reaches the row's token{shared}", marked=marked),
            _numbers(grown, self.start, places),
        )


def ends(rolled: Rollout, grown: list[Rollout], scale: str) -> tuple[float, float]:
    """The values of the darkest and the brightest colour; `grown`: the rows after every layer."""
    top = max(float(each.grid.max()) for each in (grown if scale == "shared" else [rolled]))
    return float(rolled.grid.min()) if scale == "from lowest" else 0.0, top


def _whose(query: str) -> str:
    """What was really taken, in words."""
    return query if query.startswith("row ") else "the mean of all places" if query == "mean" else f"[{query}]"


def _numbers(grown: list[Rollout], start: int, places: np.ndarray) -> dict[str, np.ndarray]:
    """The map, and every layer's row: its places, what special tokens and padding take."""
    return {
        "places": places,
        "by_layer": np.stack([rolled.grid.numpy() for rolled in grown]),
        "layer": np.arange(start, start + len(grown)),
        "special": np.array([list(rolled.special.values()) for rolled in grown]),
        "special_names": np.array(list(grown[-1].special), dtype=str),
        "padding": np.array([rolled.padding for rolled in grown]),
    }
