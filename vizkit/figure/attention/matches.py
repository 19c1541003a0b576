"""Two pictures side by side, and lines from places of the one to the places of the other that they look at."""

import cv2
import numpy as np
from jaxtyping import Float
from torch import Tensor

from vizkit.figure.palette import colours
from vizkit.image import Pixels, zoomed
from vizkit.traces import Attention, NotApplicable, dense

SIDE_PX, GAP_PX = 480, 32
LEAST = 0.1
"""Of a weight that is drawn: as many as nine places may have one as large."""


def matches(
    attention: Attention,
    first: Pixels,
    second: Pixels,
    *,
    strength: Float[Tensor, " query"] | None = None,
    apart: int = 4,
) -> Pixels:
    """A line for each weight of LEAST and more (mean over heads), the more opaque the larger it is.

    `first`, `second`: the pictures that queries and keys lie on, made about SIDE_PX large, every pixel a square.
    `strength`: colour of a query's lines, from 0 to 1. `apart`: every so many-th column of queries is drawn, and of it
    every so many-th row. Raises NotApplicable for tokens that do not lie on two pictures.
    """
    query, key = attention.query, attention.key
    if query.grid is None or key.grid is None or query.image == key.image:
        raise NotApplicable("Lines between two images need queries on one and keys on the other.")
    times = [max(1, round(SIDE_PX / max(picture.shape[:2]))) for picture in (first, second)]
    left, right = (zoomed(picture, n) for picture, n in zip((first, second), times, strict=True))
    start = left.shape[1] + GAP_PX
    whole = np.full((max(len(left), len(right)), start + right.shape[1], 3), 255, np.uint8)
    whole[: len(left), : left.shape[1]] = left
    whole[: len(right), start:] = right
    weights, scale = dense(attention).float().mean(0), colours()
    for i, column in enumerate(range(apart // 2, query.grid[1], apart)):
        for row in range(i % apart, query.grid[0], apart):  # no two of a row, whose lines would lie upon each other
            place = row * query.grid[1] + column
            colour = scale[255 if strength is None else int(255 * float(strength[place].clamp(0, 1)))].tolist()
            begin = _middle(row, column, query.stride * times[0])
            for j in (weights[place] >= LEAST).nonzero().flatten().tolist():
                x, y = _middle(j // key.grid[1], j % key.grid[1], key.stride * times[1])
                line = cv2.line(whole.copy(), begin, (start + x, y), colour, 2, cv2.LINE_AA)
                opacity = float(weights[place, j])
                whole = cv2.addWeighted(line, opacity, whole, 1 - opacity, 0).astype(np.uint8)
    return whole


def _middle(row: int, column: int, cell_px: float) -> tuple[int, int]:
    """(x, y) of the middle of a cell."""
    return int((column + 0.5) * cell_px), int((row + 0.5) * cell_px)
