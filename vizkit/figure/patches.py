"""The image as the sequence of patches that a transformer reads."""

import cv2
import numpy as np
from jaxtyping import UInt8

from vizkit.figure.palette import SIGNED, colours
from vizkit.figure.scales import Places
from vizkit.image import RGB, Pixels, zoomed

PAPER, INK, MARK = 255, (30, 30, 46), (244, 63, 94)
MOST_APART = 64  # patches in a row
LEGIBLE_PX = 60  # of a patch, from which its number can be read on any ground


def pulled_apart(
    seen: RGB,
    grid: tuple[int, int],
    chosen: int | None = None,
    *,
    side_px: int = 640,
    numbers: bool | None = None,
) -> Pixels:
    """The patches of `seen` (the model's input) with gaps between them, numbered from 1 in row-major order.

    `side_px`: about the width of the picture. `chosen` (from 0) gets a frame. Numbers stand on the patches where they
    are large enough to be read, unless `numbers` says otherwise.
    """
    rows, columns = grid
    cell = max(6, side_px // columns)
    gap = max(1, cell // 10)
    size = cell - gap
    large = cv2.resize(
        seen,
        (columns * size, rows * size),
        interpolation=cv2.INTER_AREA if columns * size < seen.shape[1] else cv2.INTER_NEAREST,
    )
    out = np.full((rows * cell + gap, columns * cell + gap, 3), PAPER, np.uint8)
    for index in range(rows * columns):
        r, c = divmod(index, columns)
        y, x = gap + r * cell, gap + c * cell
        out[y : y + size, x : x + size] = large[r * size : (r + 1) * size, c * size : (c + 1) * size]
        if size >= LEGIBLE_PX if numbers is None else numbers:
            number(out, str(index + 1), x, y, size)
        if index == chosen:
            cv2.rectangle(out, (x - 1, y - 1), (x + size, y + size), MARK, max(2, gap))
    return out


def number(out: np.ndarray, text: str, x: int, y: int, size: int) -> None:
    """White on a dark edge, readable on every patch."""
    scale = size / 90
    for colour, thickness in ((INK, 3), ((255, 255, 255), 1)):
        cv2.putText(
            out,
            text,
            (x + 2, y + int(22 * scale) + 4),
            cv2.FONT_HERSHEY_SIMPLEX,
            max(0.3, scale * 0.8),
            colour,
            thickness,
            cv2.LINE_AA,
        )


def beside(left: RGB, right: RGB, gap: int = 8) -> Pixels:
    """Two pictures of one size as one, side by side on a phone too. At least 240 pixels each, so that patches keep
    their edges."""
    zoom = -(-240 // left.shape[0])
    first, second = (zoomed(each, zoom) for each in (left, right))
    return np.concatenate([first, np.full((len(first), gap, 3), PAPER, np.uint8), second], 1)


def blue_to_red(values: Places, limit: float) -> UInt8[np.ndarray, "row column 3"]:
    """A pixel for each number: blue below zero, red above, pale at zero; the strongest colours stand for ±`limit`."""
    return colours(SIGNED)[(127.5 + 127.5 * np.clip(values / limit, -1, 1)).round().astype(int)]


def strip(values: np.ndarray, *, height: int = 28, width: int = 640, limit: float = 0.0) -> Pixels:
    """A vector as a row of coloured cells; `limit`: by default the number that is largest in size."""
    row = values[np.arange(width) * len(values) // width]
    return blue_to_red(row[None], limit or float(np.abs(values).max()) or 1.0).repeat(height, 0)


def colour_strips(values: np.ndarray, colours: int) -> Pixels:
    """The numbers of a patch, a strip for each colour on one scale, with white between them."""
    strips = [strip(part, limit=float(np.abs(values).max())) for part in values.reshape(colours, -1)]
    gap = np.full((6, strips[0].shape[1], 3), PAPER, np.uint8)
    return np.concatenate([piece for each in strips for piece in (each, gap)][:-1])


def filter_tiles(components: np.ndarray, *, across: int = 7, tile: int = 72) -> Pixels:
    """(component, 3, patch, patch) as colour tiles, each stretched around grey to its own largest size."""
    gap = 4
    down = -(-len(components) // across)
    out = np.full((down * (tile + gap) - gap, across * (tile + gap) - gap, 3), PAPER, np.uint8)
    for index, filter_ in enumerate(components):
        image = filter_.transpose(1, 2, 0)
        image = image if image.shape[2] == 3 else image.mean(2, keepdims=True).repeat(3, 2)
        image = 0.5 + 0.5 * image / (np.abs(image).max() or 1.0)
        pixels = cv2.resize((image * 255).round().astype(np.uint8), (tile, tile), interpolation=cv2.INTER_NEAREST)
        r, c = divmod(index, across)
        out[r * (tile + gap) : r * (tile + gap) + tile, c * (tile + gap) : c * (tile + gap) + tile] = pixels
    return out
