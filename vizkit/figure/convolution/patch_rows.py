"""Patches of pictures in rows, as one picture."""

from collections.abc import Sequence

import cv2
import numpy as np
from jaxtyping import UInt8

GAP_PX = 4


def patch_rows(
    rows: Sequence[Sequence[UInt8[np.ndarray, "height width 3"]]], *, tile: int = 96
) -> UInt8[np.ndarray, "out_height out_width 3"]:
    """A row for each sequence, every patch enlarged to a tile of `tile` pixels with its own pixels seen; white between
    them and where a row is shorter."""
    across = max(len(row) for row in rows)
    step = tile + GAP_PX
    out = np.full((len(rows) * step - GAP_PX, across * step - GAP_PX, 3), 255, np.uint8)
    for r, row in enumerate(rows):
        for c, patch in enumerate(row):
            way = cv2.INTER_AREA if patch.shape[0] > tile else cv2.INTER_NEAREST
            out[r * step : r * step + tile, c * step : c * step + tile] = cv2.resize(
                patch, (tile, tile), interpolation=way
            )
    return out
