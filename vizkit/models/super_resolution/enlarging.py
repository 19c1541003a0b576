"""A picture of any size four times as large, tile after tile, so that memory does not grow with it."""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

from vizkit.models.networks.super_resolution.ttsr import TIMES, TTSR
from vizkit.models.super_resolution.opening import Enlarger

RGB = UInt8[np.ndarray, "_row _column 3"]
Tile = tuple[slice, slice, slice, slice]
TILE, BORDER = 48, 32
"""Pixels of the small picture: the side of a tile, and how much around it is seen, too: no result reaches further."""
MOST_PIXELS = 1024 * 1024
"""Of a picture to be enlarged: the result has sixteen times as many."""
LARGEST_REFERENCE = 512 * 512
"""Pixels of a reference; a larger one is shrunk, as every place of a tile is compared with every place of it."""


def pixels_of(rgb: RGB, device: torch.device | str = "cpu") -> Float[Tensor, "1 3 row column"]:
    return torch.from_numpy(rgb.copy()).to(device).permute(2, 0, 1)[None].float() / 255


def bytes_of_pixels(pixels: Float[Tensor, "1 3 row column"]) -> RGB:
    return (pixels[0].clamp(0, 1) * 255).round().byte().permute(1, 2, 0).cpu().contiguous().numpy()


def fitting_reference(rgb: RGB) -> RGB:
    """The reference as the network takes it: no larger than LARGEST_REFERENCE, its sides multiples of four."""
    rows, columns = rgb.shape[:2]
    shrink = min(1.0, (LARGEST_REFERENCE / (rows * columns)) ** 0.5)
    if shrink < 1:
        size = max(TIMES, int(columns * shrink)), max(TIMES, int(rows * shrink))
        rgb = np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BICUBIC))
    padding = [(0, max(0, TIMES - side)) for side in rgb.shape[:2]]
    rgb = np.pad(rgb, (*padding, (0, 0)), mode="edge")
    rows, columns = (side // TIMES * TIMES for side in rgb.shape[:2])
    return np.ascontiguousarray(rgb[:rows, :columns])


def tiles(rows: int, columns: int, side: int = TILE, border: int = BORDER) -> Iterator[Tile]:
    """(rows and columns of a tile, rows and columns that are seen for it), in order; together the whole picture."""
    for top in range(0, rows, side):
        for left in range(0, columns, side):
            bottom, right = min(top + side, rows), min(left + side, columns)
            yield (
                slice(top, bottom),
                slice(left, right),
                slice(max(top - border, 0), min(bottom + border, rows)),
                slice(max(left - border, 0), min(right + border, columns)),
            )


def refuse_large(rgb: RGB) -> None:
    """Raises ValueError for more than MOST_PIXELS."""
    if rgb.shape[0] * rgb.shape[1] > MOST_PIXELS:
        raise ValueError("The image has more than a million pixels already: give a smaller one.")


def enlarge(
    enlarger: Enlarger,
    rgb: RGB,
    reference: RGB | None = None,
    *,
    tell: Callable[[int, int], None] | None = None,
    tile: int = TILE,
) -> RGB:
    """The picture four times as large, 8 bits. `reference`: needed by a network that `uses_reference`, else not used.

    `tell` hears how many of how many tiles are done; what it raises stops the work. ValueError without a reference.
    """
    whole = np.empty((TIMES * rgb.shape[0], TIMES * rgb.shape[1], 3), np.uint8)
    total = len(list(tiles(rgb.shape[0], rgb.shape[1], tile)))
    for done, (rows, columns, pixels) in enumerate(enlarged_tiles(enlarger, rgb, reference, tile=tile), 1):
        whole[rows, columns] = pixels
        if tell:
            tell(done, total)
    return whole


def enlarged_tiles(
    enlarger: Enlarger, rgb: RGB, reference: RGB | None = None, *, tile: int = TILE, start: int = 0
) -> Iterator[tuple[slice, slice, RGB]]:
    """Tile after tile of `tiles` from number `start` on: its rows and columns in the enlarged picture, and its pixels.

    Raises ValueError where a network that `uses_reference` is given none.
    """
    if enlarger.uses_reference and reference is None:
        raise ValueError(f"{enlarger.name} takes its texture from a reference: give a second image.")
    second = None
    if reference is not None and enlarger.uses_reference:
        second = pixels_of(fitting_reference(reference), enlarger.device)
    pixels = pixels_of(rgb, enlarger.device)
    for rows, columns, seen_rows, seen_columns in islice(tiles(rgb.shape[0], rgb.shape[1], tile), start, None):
        result = bytes_of_pixels(_tile(enlarger.model, pixels[:, :, seen_rows, seen_columns], second))
        top, left = TIMES * (rows.start - seen_rows.start), TIMES * (columns.start - seen_columns.start)
        into = slice(TIMES * rows.start, TIMES * rows.stop), slice(TIMES * columns.start, TIMES * columns.stop)
        height, width = (part.stop - part.start for part in into)
        yield *into, result[top : top + height, left : left + width]


@torch.inference_mode()
def _tile(model: TTSR, pixels: Tensor, reference: Tensor | None) -> Tensor:
    return model(pixels, reference)
