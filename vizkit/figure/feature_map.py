"""Features as a picture: one flat colour for each token."""

import cv2
import numpy as np
from jaxtyping import Float

from vizkit.figure.palette import colours
from vizkit.figure.patches import MARK, number
from vizkit.figure.scales import Places
from vizkit.image import RGB, Pixels, zoomed


def feature_map(
    values: Float[np.ndarray, "row column 3"] | Places,
    *,
    side_px: int = 420,
    top: float = 0.0,
) -> RGB:
    """Three numbers from 0 to 1 as red, green and blue, or one number ≥ 0 from dark (0) to bright (`top`, or the
    largest)."""
    zoom = max(1, side_px // max(values.shape[:2]))
    if values.ndim == 2:
        level = np.clip(values / (top or values.max() or 1.0) * 255, 0, 255).round().astype(np.uint8)
        cells = colours()[level]
    else:
        cells = np.clip(values * 255, 0, 255).round().astype(np.uint8)
    return np.ascontiguousarray(zoomed(cells, zoom))


def neighbours(seen: RGB, order: list[tuple[int, int]], *, side_px: int = 220) -> Pixels:
    """The pixels of 2×2 tokens with gaps between them, numbered in the `order` (down, right) of joining."""
    cell, gap = side_px // 2, 6
    large = cv2.resize(seen, (2 * cell, 2 * cell), interpolation=cv2.INTER_NEAREST)
    out = np.full((2 * cell + gap, 2 * cell + gap, 3), MARK, np.uint8)
    for index, (down, right) in enumerate(order):
        y, x = down * (cell + gap), right * (cell + gap)
        out[y : y + cell, x : x + cell] = large[down * cell : (down + 1) * cell, right * cell : (right + 1) * cell]
        number(out, str(index + 1), x + 4, y + 4, cell)
    return out
