"""A product of two matrices as a picture: the last factor, what was there before, and what comes of them."""

from collections.abc import Sequence

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.palette import colours

GROUND, INK, DIM = (45, 49, 82), (232, 234, 246), 0.45
SIGN_PX, MARKED_PX = 34, 3
BEYOND = 1.5  # times as many weights as the diagonal has may lie beyond the last colour: it would leave the rest black


def product(
    matrices: Sequence[Float[np.ndarray, "query key"]], rows: Sequence[int | None], side_px: int = 128
) -> UInt8[np.ndarray, "height width 3"]:
    """Three matrices, each drawn as a square in colours of its own range: first × second = third. `rows`: of each the
    row that stays bright while the others are dimmed, None for all of them."""
    sign = np.full((side_px, SIGN_PX, 3), GROUND, np.uint8)
    times, equals = sign.copy(), sign.copy()
    middle, centre, arm = side_px // 2, SIGN_PX // 2, 6
    for slope in (1, -1):
        ends = (centre - arm, middle - slope * arm), (centre + arm, middle + slope * arm)
        cv2.line(times, *ends, INK, 2, cv2.LINE_AA)
        ends = (centre - arm, middle + 4 * slope), (centre + arm, middle + 4 * slope)
        cv2.line(equals, *ends, INK, 2, cv2.LINE_AA)
    first, second, third = (_drawn(each, row, side_px) for each, row in zip(matrices, rows, strict=True))
    return np.concatenate([first, times, second, equals, third], 1)


def _drawn(matrix: np.ndarray, row: int | None, side_px: int) -> UInt8[np.ndarray, "side side 3"]:
    top = float(np.quantile(matrix, max(0.0, 1 - BEYOND / matrix.shape[1]))) or float(matrix.max()) or 1.0
    level = (np.sqrt(np.clip(matrix / top, 0, 1)) * 255).astype(np.uint8)
    bright = colours()[level]
    large = cv2.resize(
        bright, (side_px, side_px), interpolation=cv2.INTER_AREA if len(matrix) > side_px else cv2.INTER_NEAREST
    )
    if row is None:
        return large
    dimmed = (large * DIM).astype(np.uint8)
    at = min(row * side_px // len(matrix), side_px - MARKED_PX)
    thick = max(MARKED_PX, side_px // len(matrix))
    own = cv2.resize(bright[row : row + 1], (side_px, 1), interpolation=cv2.INTER_NEAREST)
    dimmed[at : at + thick] = own
    return dimmed
