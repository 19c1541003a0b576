"""Every head of every layer in a few bits: what a page of its own carries.

A weight is kept as a share of the largest of its row, in so many equal steps as the size of the page allows; the row's
largest is exact. zlib takes care of what is even or empty.
"""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.figure.canvas.rows import text64
from vizkit.figure.scales import SHARES, robust
from vizkit.traces import Attention, Features, Trace

STEPS = (255, 127, 63, 31, 15, 7)


@dataclass(frozen=True)
class Packed:
    """`layers` as host.js reads them; `steps`: how many a weight of a single head has, 0 where heads were left out."""

    layers: list[dict[str, Any]]
    steps: int
    size: int  # characters


def packed(trace: Trace, limit: int) -> Packed | None:
    """The layers of a trace in at most `limit` characters: with every head in as many steps as fit, else the mean of
    the heads alone, else None."""
    shown = layers(trace)
    if not shown:
        return Packed([_features(stage) for stage in trace.features], 0, 0)
    frames = [_frame(layer) for layer in shown]
    means = [_values(layer.weights.float().mean(1, keepdim=True).numpy(), STEPS[0]) for layer in shown]
    fixed = sum(len(str(frame)) for frame in frames) + sum(_size(mean) for mean in means)
    if fixed > limit:
        return None
    several = any(layer.weights.shape[1] > 1 for layer in shown)
    for steps in STEPS if several else ():
        heads, size = [], fixed
        for layer in shown:
            heads.append(_values(layer.weights.float().numpy(), steps))
            size += _size(heads[-1])
            if size > limit:
                break
        else:
            made = zip(frames, means, heads, strict=True)
            return Packed([frame | {"mean": mean, "heads": head} for frame, mean, head in made], steps, size)
    return Packed([frame | {"mean": mean} for frame, mean in zip(frames, means, strict=True)], 0, fixed)


def _values(weights: Float[np.ndarray, "group head query key"], steps: int) -> dict[str, Any]:
    """Rows by head, then group, then query."""
    ordered = weights.transpose(1, 0, 2, 3)
    largest = ordered.max(-1)
    shares = ordered / np.where(largest > 0, largest, 1)[..., None]
    levels = np.rint(shares * steps).astype(np.uint8)
    return {
        "steps": steps,
        "count": len(ordered),
        "levels": text64(np.frombuffer(zlib.compress(levels.tobytes(), 6), np.uint8)),
        "largest": text64(largest, "<f4"),
    }


def _size(values: dict[str, Any]) -> int:
    return len(values["levels"]) + len(values["largest"])


def _frame(layer: Attention) -> dict[str, Any]:
    *_, queries, keys = layer.weights.shape
    return {
        "name": layer.name,
        "queries": queries,
        "keys": keys,
        "query_ids": text64(layer.query_ids, "<i4"),
        "key_ids": text64(layer.key_ids, "<i4"),
        "query_grid": layer.query.grid,
        "key_grid": layer.key.grid,
        "query_special": layer.query.special,
        "key_special": layer.key.special,
        "kind": "",
        "scale": SHARES.packed(),
    }


def _features(stage: Features) -> dict[str, Any]:
    """One stage of a network without attention: how strong its features are, as the only row there is."""
    strength = feature_strength(stage).numpy().reshape(1, 1, 1, -1)
    count = strength.shape[-1]
    return {
        "name": stage.name,
        "queries": 1,
        "keys": count,
        "query_ids": text64(np.arange(1), "<i4"),
        "key_ids": text64(np.arange(count), "<i4"),
        "query_grid": None,
        "key_grid": stage.tokens.grid,
        "query_special": (),
        "key_special": (),
        "kind": "features",
        "scale": robust([strength]).packed(),
        "mean": _values(strength, STEPS[0]),
    }
