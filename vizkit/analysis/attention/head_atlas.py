"""Everything measured of the heads of a model, as one record, one file and one table."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vizkit.analysis.attention.head_importance import HeadImportance
from vizkit.analysis.attention.pruning import Pruning

LOSSES = ("lost", "half", "flipped", "estimate")


@dataclass(frozen=True)
class HeadAtlas:
    """`names`: (layer, head) from 0. `importance` and `pruning` by ablation, "mean" or "zero"; `behaviours` as in
    `head_behaviour.BEHAVIOURS`, of every head the mean over `images` test images of `data`."""

    names: tuple[tuple[int, int], ...]
    data: str
    images: int
    behaviours: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    importance: Mapping[str, HeadImportance] = field(default_factory=dict)
    pruning: Mapping[str, Pruning] = field(default_factory=dict)


def table(atlas: HeadAtlas) -> dict[str, Sequence[float]]:
    """Columns by name, a row for each head; layers and heads from 1. Columns that nobody knows are left out."""
    columns: dict[str, Sequence[float]] = {
        "layer": [layer + 1.0 for layer, _ in atlas.names],
        "head": [head + 1.0 for _, head in atlas.names],
    }
    for ablation, importance in atlas.importance.items():
        columns |= {f"{ablation} {name}": getattr(importance, name) for name in LOSSES}
    columns |= atlas.behaviours
    return {name: values for name, values in columns.items() if not all(map(math.isnan, values))}


def as_json(atlas: HeadAtlas, **more: Any) -> str:
    """`more`: what else the file says, such as the model. Six digits; null where there is no number."""
    importance = {
        name: {key: getattr(each, key) for key in (*LOSSES, "examples")} for name, each in atlas.importance.items()
    }
    pruning = {name: each._asdict() for name, each in atlas.pruning.items()}
    content = {
        **more,
        "data": atlas.data,
        "images": atlas.images,
        "names": atlas.names,
        "importance": importance,
        "behaviours": atlas.behaviours,
        "pruning": pruning,
    }
    return json.dumps(_short(content)) + "\n"


def from_json(text: str) -> HeadAtlas:
    content = json.loads(text)
    names = tuple((int(layer), int(head)) for layer, head in content["names"])
    images = int(content["images"])
    importance = {
        kind: HeadImportance(
            names,
            images,
            **{key: _numbers(values[key]) for key in LOSSES},
            examples=tuple(tuple(row) for row in values["examples"]),
        )
        for kind, values in content["importance"].items()
    }
    pruning = {
        kind: Pruning(
            values["heads"],
            values["images"],
            tuple(values["counts"]),
            *({name: tuple(map(_numbers, curves)) for name, curves in values[key].items()} for key in ("own", "right")),
        )
        for kind, values in content["pruning"].items()
    }
    behaviours = {name: _numbers(values) for name, values in content["behaviours"].items()}
    return HeadAtlas(names, content["data"], images, behaviours, importance, pruning)


def _numbers(values: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(math.nan if value is None else float(value) for value in values)


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_short(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
