"""A map laid over the part of the image that the model saw."""

import math

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.palette import CEILING, FLOOR, SCALE, SIGNED, colours
from vizkit.geometry import Box


def overlay(
    image: UInt8[np.ndarray, "height width 3"],
    places: Float[np.ndarray, "row column"],
    box_xyxy: Box,
    *,
    low: float = 0.0,
    top: float | None = None,
    floor: float = FLOOR,
    ceiling: float = CEILING,
    scale: str = SCALE,
) -> UInt8[np.ndarray, "height width 3"]:
    """The image with `places` drawn inside `box_xyxy` (pixels of the image), every cell a flat rectangle.

    Flat, because a smooth map would show places that the model does not have. `low` and `top` are the values of the
    darkest and the brightest colour: None takes the map's own maximum, a number lets several maps share one scale. With
    the SIGNED scale colours go from −top to top. Outside the box the image is dimmed: the model did not see it. A new
    array; the input is not changed.
    """
    height, width = image.shape[:2]
    rows, columns = places.shape
    x0, y0, x1, y1 = box_xyxy
    # The cell of every pixel centre; −1 outside the box.
    column = np.floor((np.arange(width) + 0.5 - x0) / (x1 - x0) * columns).astype(int)
    row = np.floor((np.arange(height) + 0.5 - y0) / (y1 - y0) * rows).astype(int)
    inside = ((row >= 0) & (row < rows))[:, None] & ((column >= 0) & (column < columns))[None]
    values = places[row.clip(0, rows - 1)][:, column.clip(0, columns - 1)]
    index, opacity = painting(values, float(places.max()) if top is None else top, floor, ceiling, scale, low)
    painted = (1 - opacity[..., None]) * image + opacity[..., None] * colours(scale)[index]
    return np.where(inside[..., None], painted, 0.35 * image).round().astype(np.uint8)


def painting(
    values: Float[np.ndarray, "*shape"],
    top: float,
    floor: float = FLOOR,
    ceiling: float = CEILING,
    scale: str = SCALE,
    low: float = 0.0,
) -> tuple[UInt8[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """(index into the colours, opacity) of every value. With SIGNED zero is in the middle of the colours, and clear
    where the picture is to be seen at all."""
    if scale == SIGNED:
        share = np.clip(values / top, -1, 1) if top > 0 else values * 0.0
        least = floor if ceiling >= 1 else 0.0  # white at zero would only veil the picture
        return (127.5 + 127.5 * share).round().astype(np.uint8), least + (ceiling - least) * np.abs(share)
    share = (values - low) / (top - low) if top > low else values * 0.0
    index = (255 * share).clip(0, 255).astype(np.uint8)
    return index, floor + (ceiling - floor) * index / 255.0


def top_of(values: Float[np.ndarray, "row column"], quantile: float = 1.0) -> float:
    """The value of the strongest colour: the largest magnitude, or a quantile of it where a few pixels tower above all
    others, as in maps of single pixels."""
    return float(np.quantile(np.abs(values), quantile)) if values.size else 0.0


def times_of(doublings: float) -> float:
    """How many times an equal share a value of unit "×" is: the inverse of log₂(1 + times), with the sign."""
    return math.copysign(2 ** abs(doublings) - 1, doublings)
