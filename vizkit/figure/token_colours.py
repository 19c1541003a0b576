"""The image as its tokens cut it: every token one flat colour, the mean of the pixels that it stands for."""

import cv2
import numpy as np
from jaxtyping import Float

from vizkit.image import RGB, Pixels

DARK, MARK = (10, 12, 28), (255, 255, 255)


def means(seen: RGB, grid: tuple[int, int]) -> Float[np.ndarray, "row column 3"]:
    """The mean colour of every token. ValueError where the grid (rows, columns) does not divide the picture."""
    (height, width), (rows, columns) = seen.shape[:2], grid
    if height % rows or width % columns:
        raise ValueError(f"A grid of {rows} × {columns} does not divide {height} × {width} pixels.")
    return seen.reshape(rows, height // rows, columns, width // columns, 3).mean((1, 3))


def token_colours(
    seen: RGB,
    grid: tuple[int, int],
    chosen: tuple[int, int] | None = None,
    *,
    side_px: int = 448,
) -> Pixels:
    """`seen`: the model's input, which the grid (rows, columns) divides. `chosen` (row, column) gets a frame.

    Tokens keep their shape: the picture has that of `seen`. `side_px`: about its longer side.
    """
    height, width = seen.shape[:2]
    zoom = max(1, round(side_px / max(height, width)))
    tall, wide = height // grid[0] * zoom, width // grid[1] * zoom
    out = means(seen, grid).round().astype(np.uint8).repeat(tall, 0).repeat(wide, 1)
    out = np.ascontiguousarray(out)
    if min(tall, wide) >= 6:  # a fine line between tokens of one colour
        for lines in (out[::tall], out[:, ::wide]):
            lines[:] = (0.78 * lines + 0.22 * 140).round().astype(np.uint8)
    if chosen is not None:
        corner = (chosen[1] * wide, chosen[0] * tall)
        end = (corner[0] + wide - 1, corner[1] + tall - 1)
        thick = max(2, out.shape[1] // 150)
        cv2.rectangle(out, corner, end, DARK, 2 * thick + 1)
        cv2.rectangle(out, corner, end, MARK, thick)
    return out
