"""Small maps of one picture as their canvas (tiles.js) reads them: each with its name, its colours and its values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from vizkit.figure.canvas.rows import sixteen_bits, text64
from vizkit.figure.palette import SIGNED, colours
from vizkit.geometry import Box

__all__ = ["Tile", "tile_maps"]


@dataclass(frozen=True, eq=False)
class Tile:
    """One small map. `places`: None where there is none, and `note` says why. `more`: shown when it is pointed at.
    `signed`: drawn from blue over white at 0 to red. `unit`: "%" or ""."""

    name: str
    places: Float[np.ndarray, "row column"] | None
    note: str = ""
    more: str = ""
    signed: bool = False
    unit: str = ""

    @property
    def values(self) -> Float[np.ndarray, "row column"]:
        return np.zeros((0, 0)) if self.places is None else self.places


def tile_maps(
    maps: Sequence[Tile],
    limits: Sequence[tuple[int | float, int | float]],
    boxes_xyxy: Sequence[Box],
    size_hw: tuple[int, int],
    image_url: str,
    opacities: tuple[float, float],
    label: str,
) -> dict[str, Any]:
    """`limits`: the values at the two ends of every map's colours; `boxes_xyxy`: what its model saw of the picture, in
    pixels; `size_hw`: of the picture."""
    height, width = size_hw
    described, values, start = [], [], 0
    for tile, (bottom, top), (x0, y0, x1, y1) in zip(maps, limits, boxes_xyxy, strict=True):
        low, high = float(tile.values.min(initial=0)), float(tile.values.max(initial=0))
        values.append(sixteen_bits(tile.values, low, high).ravel())
        rows, across = tile.values.shape
        described.append(
            {
                "name": tile.name,
                "note": tile.note,
                "more": tile.more,
                "signed": tile.signed,
                "unit": tile.unit,
                "rows": rows,
                "columns": across,
                "low": low,
                "high": high,
                "from": bottom,
                "to": top,
                "start": start,
                "beyond": high > top * 1.0001,
                "box": (x0 / width, y0 / height, x1 / width, y1 / height),
            }
        )
        start += rows * across
    floor, ceiling = opacities
    return {
        "maps": described,
        "values": text64(np.concatenate(values)),
        "plain": text64(colours()),
        "signed": text64(colours(SIGNED)),
        "image": image_url,
        "size": size_hw,
        "floor": floor,
        "ceiling": ceiling,
        "label": label,
    }
