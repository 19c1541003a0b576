"""Many small pictures of a set in one: what it looks like at a glance."""

import numpy as np
from PIL import Image, ImageOps

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.image import RGB

GAP_PX, BACKGROUND = 2, 255
LARGEST_PX = 16_384  # a side of the sheet


def contact_sheet(image_set: ImageSet, columns: int = 12, rows: int = 8, tile_px: int = 96, seed: int = 0) -> RGB:
    """`columns` × `rows` square tiles of `tile_px` pixels, 2 white pixels apart, RGB 0..255.

    A row for each class if all classes fit, else a column for each, else pictures of any class; with fewer classes than
    rows, rows that lie together are of one class. Every picture is cut to its central square and shown at most once;
    which ones, the seed decides. Tiles without a picture stay white: a class has no more, or the file is broken.
    """
    if min(columns, rows, tile_px) < 1 or max(columns, rows) * (tile_px + GAP_PX) > LARGEST_PX:
        raise DatasetError(f"A sheet of {columns}×{rows} tiles of {tile_px} pixels cannot be made; choose fewer tiles.")
    step = tile_px + GAP_PX
    sheet = np.full((rows * step - GAP_PX, columns * step - GAP_PX, 3), BACKGROUND, np.uint8)
    draw = np.random.default_rng(seed)
    waiting = [draw.permutation(members).tolist() for members in _groups(image_set, columns, rows)]
    for row in range(rows):
        for column in range(columns):
            tile = _next_tile(image_set, waiting[_group(len(waiting), row, column, columns, rows)], tile_px)
            if tile is not None:
                sheet[row * step : row * step + tile_px, column * step : column * step + tile_px] = tile
    return sheet


def _groups(image_set: ImageSet, columns: int, rows: int) -> list[np.ndarray]:
    """The pictures of each class, or all of them if the classes fit neither rows nor columns."""
    if len(image_set.labels) > max(columns, rows):
        return [np.arange(len(image_set))]
    return [np.flatnonzero(image_set.targets == target) for target in range(len(image_set.labels))]


def _group(groups: int, row: int, column: int, columns: int, rows: int) -> int:
    return row * groups // rows if groups <= rows else column * groups // columns


def _next_tile(image_set: ImageSet, waiting: list[int], tile_px: int) -> RGB | None:
    while waiting:
        try:
            picture, _ = image_set[waiting.pop()]
        except DatasetError:
            continue
        return np.asarray(ImageOps.fit(Image.fromarray(picture), (tile_px, tile_px), Image.Resampling.BICUBIC))
    return None
