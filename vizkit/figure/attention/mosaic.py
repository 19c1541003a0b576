"""Many small maps in one picture: layers down, heads across."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.palette import SCALE, colours

GAP = 4


def mosaic(
    maps: Sequence[Float[np.ndarray, "_ _ _"] | None],
    *,
    shared: bool = False,
    tile: int = 56,
    scale: str = SCALE,
) -> UInt8[np.ndarray, "height width 3"]:
    """One row of tiles for every layer, white between them; a layer without places stays an empty row.

    Every tile is stretched to its own maximum, or with `shared` to the maximum of its layer. Cells are flat rectangles;
    `tile` is the width of a tile in pixels.
    """
    across = max((len(m) for m in maps if m is not None), default=1)
    rows = [_layer_row(m, across, shared, tile, scale) for m in maps]
    return np.concatenate(rows)[: -GAP or None]


def _layer_row(
    maps: Float[np.ndarray, "head row column"] | None, across: int, shared: bool, tile: int, scale: str
) -> UInt8[np.ndarray, "height width 3"]:
    if maps is None:
        return np.full((tile // 2, across * (tile + GAP) - GAP, 3), 255, np.uint8)
    _, rows, columns = maps.shape
    height = round(tile * min(1.6, rows / columns))
    top = maps.max() if shared else maps.max((1, 2), keepdims=True)
    level = (np.clip(maps / np.maximum(top, 1e-12), 0, 1) * 255).astype(np.uint8)
    # Nearest cell of every pixel, so that any number of cells fits a tile.
    level = level[:, np.arange(height) * rows // height][:, :, np.arange(tile) * columns // tile]
    out = np.full((height + GAP, across * (tile + GAP) - GAP, 3), 255, np.uint8)
    for head, pixels in enumerate(colours(scale)[level]):
        out[:height, head * (tile + GAP) : head * (tile + GAP) + tile] = pixels
    return out
