"""The windows of a block over the image: lines between tokens that may not see each other."""

import cv2
import numpy as np
from jaxtyping import Int

from vizkit.image import RGB, Pixels

DARK, LIGHT, MARK = (10, 12, 28), (255, 255, 255), (244, 63, 94)
DIMMED = 0.55


def windows(
    seen: RGB,
    pieces: Int[np.ndarray, "row column"],
    token: tuple[int, int] | None = None,
    *,
    side_px: int = 640,
) -> Pixels:
    """The model's input `seen`, cut where neighbouring tokens have different numbers in `pieces`.

    `token` (row, column) is framed, and everything outside its piece dimmed. Tokens are outlined where they are large
    enough. `side_px`: about the longer side of the picture; every token gets the same whole number of pixels.
    """
    rows, columns = pieces.shape
    aspect = seen.shape[0] / rows / (seen.shape[1] / columns)
    wide = max(2, round(side_px / max(columns, rows * aspect)))
    tall = max(2, round(wide * aspect))
    size = (columns * wide, rows * tall)
    smaller = size[0] < seen.shape[1] or seen.shape[1] <= 64  # digits stay what they are: squares
    out = cv2.resize(seen, size, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR).astype(np.float32)
    if token is not None:
        outside = (pieces != pieces[token]).repeat(tall, 0).repeat(wide, 1)
        out[outside] *= DIMMED
    if min(wide, tall) >= 8:
        out[::tall], out[:, ::wide] = (0.7 * line + 0.3 * 255 for line in (out[::tall], out[:, ::wide]))
    out = out.round().astype(np.uint8)
    for colour, thickness in ((DARK, max(4, side_px // 110)), (LIGHT, max(2, side_px // 220))):
        across, down = borders(pieces)
        for row, column in across:
            cv2.line(out, (column * wide, row * tall), ((column + 1) * wide, row * tall), colour, thickness)
        for row, column in down:
            cv2.line(out, (column * wide, row * tall), (column * wide, (row + 1) * tall), colour, thickness)
    if token is not None:
        corner = (token[1] * wide, token[0] * tall)
        cv2.rectangle(out, corner, (corner[0] + wide, corner[1] + tall), MARK, max(3, side_px // 160))
    return out


def borders(pieces: Int[np.ndarray, "row column"]) -> tuple[list[list[int]], list[list[int]]]:
    """(cells whose upper edge, cells whose left edge) lies between two pieces, as [row, column]."""
    upper, left = np.zeros(pieces.shape, bool), np.zeros(pieces.shape, bool)
    upper[1:], left[:, 1:] = pieces[1:] != pieces[:-1], pieces[:, 1:] != pieces[:, :-1]
    return np.argwhere(upper).tolist(), np.argwhere(left).tolist()
