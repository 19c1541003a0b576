"""A matrix of a product as a small square, in which one row can be followed."""

from functools import partial

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.palette import colours

EDGE, DIM = 255, 0.45
LEVELS = 64  # of the colours: a page is sent three such pictures for every layer, and few levels pack well
MARKED_PX = 5  # a row of hundreds would be too thin to be seen
BEYOND = 1.5  # times as many weights as the diagonal has may lie beyond the last colour: it would leave the rest black


def square(
    matrix: Float[np.ndarray, "query key"], row: int | None = None, side_px: int = 112
) -> UInt8[np.ndarray, "side side 3"]:
    """In colours of its own range. `row`: it stays bright, between two white lines, while the others are dimmed."""
    top = float(np.quantile(matrix, max(0.0, 1 - BEYOND / matrix.shape[1]))) or float(matrix.max()) or 1.0
    level = np.sqrt(np.clip(matrix / top, 0, 1)).astype(np.float32)
    resized = partial(cv2.resize, interpolation=cv2.INTER_AREA if max(level.shape) > side_px else cv2.INTER_NEAREST)
    large = resized(level, (side_px, side_px))
    if row is None:
        return _coloured(large)
    drawn = (_coloured(large) * DIM).astype(np.uint8)
    thick = max(MARKED_PX, side_px // len(matrix))
    at = min(row * side_px // len(matrix), side_px - thick)
    drawn[max(0, at - 1) : at + thick + 1] = EDGE
    drawn[at : at + thick] = _coloured(resized(level[row : row + 1], (side_px, 1)))
    return drawn


def _coloured(level: Float[np.ndarray, "row column"]) -> UInt8[np.ndarray, "row column 3"]:
    return colours()[np.rint(level * (LEVELS - 1)).astype(int) * 255 // (LEVELS - 1)]
