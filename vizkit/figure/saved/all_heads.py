"""Every head of every layer for one query: layers down, heads across, each map named by its place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from vizkit.figure.palette import SCALE, colours
from vizkit.figure.saved.plate import INK, Mark, Plate, Raster, Words
from vizkit.figure.saved.single import MARGIN, SMALL, TEXT, WIDTH, Captions, below, scale_bar, top_lines

__all__ = ["HeadsOf", "head_maps"]

NAMES = 26.0  # room for the number of a layer
GAP, LARGEST, SMALLEST = 3.0, 100.0, 24.0


@dataclass(frozen=True, eq=False)
class HeadsOf:
    """`maps`: of every layer, None where its keys have no place. `shared`: one scale for a layer, else for a map."""

    maps: Sequence[Float[np.ndarray, "_ _ _"] | None]
    shared: bool
    quantity: str


def head_maps(heads: HeadsOf, captions: Captions) -> Plate:
    across = max((len(maps) for maps in heads.maps if maps is not None), default=1)
    room = WIDTH - 2 * MARGIN - NAMES
    side = min(LARGEST, max(SMALLEST, room / across - GAP))
    width = max(WIDTH, 2 * MARGIN + NAMES + across * (side + GAP))
    marks, y = top_lines(captions, width)
    left = MARGIN + NAMES
    marks.append(Words("head", MARGIN, y + SMALL, SMALL, INK))
    for head in range(across):
        marks.append(Words(str(head + 1), left + head * (side + GAP) + side / 2, y + SMALL, SMALL, INK, "middle"))
    y += SMALL + 4
    for number, maps in enumerate(heads.maps, 1):
        height = SMALL * 1.6 if maps is None else side * min(1.6, maps.shape[1] / maps.shape[2])
        marks.append(Words(str(number), MARGIN + NAMES / 2, y + height / 2 + SMALL / 3, SMALL, INK, "middle"))
        if maps is None:
            marks.append(Words("no places in the image", left, y + height / 2 + SMALL / 3, SMALL, INK))
        else:
            marks += _row(maps, heads.shared, left, y, side, height)
        y += height + GAP
    marks.append(Words("layer", MARGIN, y + SMALL, SMALL, INK))
    top = "largest of the layer" if heads.shared else "largest of each map"
    made, y = scale_bar(y + TEXT + 8, width - 2 * MARGIN, SCALE, ("0", top), heads.quantity)
    return below([*marks, *made], captions, width, y)


def _row(
    maps: Float[np.ndarray, "head row column"], shared: bool, x: float, y: float, side: float, height: float
) -> list[Mark]:
    top = maps.max() if shared else maps.max((1, 2), keepdims=True)
    levels = (np.clip(maps / np.maximum(top, 1e-12), 0, 1) * 255).astype(np.uint8)
    return [
        Raster(pixels, x + head * (side + GAP), y, side, height) for head, pixels in enumerate(colours(SCALE)[levels])
    ]
