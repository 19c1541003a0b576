"""A map laid over the part of the image that the model saw."""

import numpy as np

from vizkit.figure.palette import CEILING, FLOOR, GREY, SHADE, UNDER, colours
from vizkit.figure.scales import OWN, Places, Scale
from vizkit.geometry import Box
from vizkit.image import RGB

UNSEEN = 0.35  # of its light is left of what the model did not see


def overlay(
    image: RGB,
    places: Places,
    box_xyxy: Box,
    *,
    scale: Scale = OWN,
    floor: float = FLOOR,
    ceiling: float = CEILING,
) -> RGB:
    """The image, grey and dimmed, with `places` drawn inside `box_xyxy` (pixels of the image), every cell a flat
    rectangle.

    Flat, because a smooth map would show places that the model does not have. Outside the box the image is dimmed more:
    the model did not see it. With a `ceiling` of 0 it is the image as it is. A new array; the input is not changed.
    """
    height, width = image.shape[:2]
    rows, columns = places.shape
    x0, y0, x1, y1 = box_xyxy
    # The cell of every pixel centre; −1 outside the box.
    column = np.floor((np.arange(width) + 0.5 - x0) / (x1 - x0) * columns).astype(int)
    row = np.floor((np.arange(height) + 0.5 - y0) / (y1 - y0) * rows).astype(int)
    inside = ((row >= 0) & (row < rows))[:, None] & ((column >= 0) & (column < columns))[None]
    levels = scale.levels(places)[row.clip(0, rows - 1)][:, column.clip(0, columns - 1)]
    opacity = scale.opacities(levels, floor, ceiling)[..., None]
    painted = (1 - opacity) * under(image, ceiling) + opacity * colours(scale.palette)[levels]
    return np.where(inside[..., None], painted, UNSEEN * image).round().astype(np.uint8)


def under(image: RGB, ceiling: float = CEILING) -> RGB:
    """The picture as it lies under a map: grey and darker, so that only the map has colours and light."""
    if not ceiling:
        return image
    shaded = UNDER * (image @ np.array(GREY)) + (1 - UNDER) * SHADE
    return np.repeat(shaded[..., None].round().astype(np.uint8), 3, -1)
