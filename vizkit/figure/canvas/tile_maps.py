"""Small maps over pictures as their canvas (tiles.js) reads them: each with its name, its colours and its values."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from vizkit.figure.canvas.rows import sixteen_bits, text64
from vizkit.figure.class_bars import Answer
from vizkit.figure.palette import SIGNED, colours
from vizkit.figure.scales import SHARES, Places, Scale
from vizkit.geometry import Box, in_shares


@dataclass(frozen=True, eq=False)
class Tile:
    """One small map. `places`: None where there is none, and `note` says why. `more`: shown when it is pointed at.
    `answers`: what the model says of the image, beside the map. `asks`: the query's cell, as fractions (x0, y0, x1, y1)
    of what the model saw, marked on paper."""

    name: str
    places: Places | None
    note: str = ""
    more: str = ""
    scale: Scale = SHARES
    answers: tuple[Answer, ...] = ()
    asks: Box | None = None

    @property
    def values(self) -> Places:
        return np.zeros((0, 0)) if self.places is None else self.places


def tile_maps(
    maps: Sequence[Tile],
    under: Sequence[tuple[str, tuple[int, int], Box]],
    opacities: tuple[float, float],
    label: str,
) -> dict[str, Any]:
    """`under`: of every map the picture as a URL, its size (height, width) in pixels, and what the model saw of it."""
    described, values, start = [], [], 0
    images = list(dict.fromkeys(url for url, *_ in under))
    for tile, (url, size_hw, box) in zip(maps, under, strict=True):
        low, high = float(tile.values.min(initial=0)), float(tile.values.max(initial=0))
        values.append(sixteen_bits(tile.values, low, high).ravel())
        rows, across = tile.values.shape
        described.append(
            {
                "name": tile.name,
                "note": tile.note,
                "more": tile.more,
                "answers": [astuple(each) for each in tile.answers],
                "scale": tile.scale.of(tile.values).packed(),
                "rows": rows,
                "columns": across,
                "low": low,
                "high": high,
                "start": start,
                "image": images.index(url),
                "size": size_hw,
                "box": in_shares(box, size_hw),
            }
        )
        start += rows * across
    floor, ceiling = opacities
    return {
        "maps": described,
        "values": text64(np.concatenate(values)),
        "plain": text64(colours()),
        "signed": text64(colours(SIGNED)),
        "images": images,
        "floor": floor,
        "ceiling": ceiling,
        "label": label,
    }
