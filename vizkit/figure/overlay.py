"""A map laid over the part of the image that the model saw."""

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.palette import SCALE, colours
from vizkit.geometry import Box

FLOOR, CEILING = 0.25, 0.85
"""Opacity of the lowest and of the highest value: where little attention goes, the image stays visible."""


def overlay(
    image: UInt8[np.ndarray, "height width 3"],
    places: Float[np.ndarray, "row column"],
    box_xyxy: Box,
    *,
    top: float | None = None,
    floor: float = FLOOR,
    ceiling: float = CEILING,
    scale: str = SCALE,
) -> UInt8[np.ndarray, "height width 3"]:
    """The image with `places` drawn inside `box_xyxy` (pixels of the image), every cell a flat rectangle.

    Flat, because a smooth map would show places that the model does not have. `top` is the value of the brightest
    colour: None takes the map's own maximum, a number lets several maps share one scale. Outside the box the image is
    dimmed: the model did not see it. A new array; the input is not changed.
    """
    height, width = image.shape[:2]
    rows, columns = places.shape
    x0, y0, x1, y1 = box_xyxy
    # The cell of every pixel centre; −1 outside the box.
    column = np.floor((np.arange(width) + 0.5 - x0) / (x1 - x0) * columns).astype(int)
    row = np.floor((np.arange(height) + 0.5 - y0) / (y1 - y0) * rows).astype(int)
    inside = ((row >= 0) & (row < rows))[:, None] & ((column >= 0) & (column < columns))[None]
    values = places[row.clip(0, rows - 1)][:, column.clip(0, columns - 1)]
    limit = float(places.max()) if top is None else top
    index = np.clip(values / limit * 255 if limit > 0 else values * 0, 0, 255).astype(np.uint8)
    opacity = (floor + (ceiling - floor) * index / 255.0)[..., None]
    painted = (1 - opacity) * image + opacity * colours(scale)[index]
    return np.where(inside[..., None], painted, 0.35 * image).round().astype(np.uint8)
