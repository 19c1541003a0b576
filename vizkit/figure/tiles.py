"""A table of maps, one for each place: the similarity grid of position embeddings (Dosovitskiy et al. 2020, fig. 7)."""

import numpy as np
from jaxtyping import Float

from vizkit.figure.palette import colours
from vizkit.image import Pixels, zoomed

GAP = 2


def tiles(
    grid: Float[np.ndarray, "row column row2 column2"], *, low: float = -1.0, high: float = 1.0, side_px: int = 720
) -> Pixels:
    """Tile (r, c) is the map grid[r, c], all on one scale from `low` to `high`; white between the tiles."""
    rows, columns, h, w = grid.shape
    zoom = max(1, (side_px // columns - GAP) // w)
    level = (np.clip((grid - low) / (high - low), 0, 1) * 255).astype(np.uint8)
    out = np.full((rows * (h * zoom + GAP) - GAP, columns * (w * zoom + GAP) - GAP, 3), 255, np.uint8)
    for r in range(rows):
        for c in range(columns):
            tile = zoomed(colours()[level[r, c]], zoom)
            y, x = r * (h * zoom + GAP), c * (w * zoom + GAP)
            out[y : y + h * zoom, x : x + w * zoom] = tile
    return out
