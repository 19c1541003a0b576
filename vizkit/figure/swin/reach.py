"""How a receptive field grows: the image shaded by the block after which a place first reaches the token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int, UInt8

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES, SCALE, colours, ramp
from vizkit.geometry import Box

if TYPE_CHECKING:
    import plotly.graph_objects as go

SHADE = 0.5
ENDS = (0.2, 0.95)  # of the scale: its first colours are too dark to tell blocks apart
MARK = (255, 255, 255)


def block_colours(count: int) -> UInt8[np.ndarray, "block 3"]:
    """One colour for each block, dark for the first."""
    return colours()[np.linspace(255 * ENDS[0], 255 * ENDS[1], count).round().astype(int)]


def reach(
    image: UInt8[np.ndarray, "height width 3"],
    after: Int[np.ndarray, "row column"],
    box_xyxy: Box,
    token_xyxy: Box,
    count: int,
    *,
    side_px: int = 720,
) -> UInt8[np.ndarray, "out_height out_width 3"]:
    """`after`: after which block, 1 to `count`, each place of the box first reaches the token; 0 for never.

    `token_xyxy`: the token's own share of the image, framed. Both boxes are in pixels of the image. Places that are
    never reached, and what lies outside the box, are dimmed; lines run where the number changes.
    """
    import cv2

    zoom = max(1.0, side_px / max(image.shape[:2]))
    height, width = (round(side * zoom) for side in image.shape[:2])
    sharp = cv2.INTER_NEAREST if max(image.shape[:2]) <= 128 else cv2.INTER_CUBIC
    large = cv2.resize(image, (width, height), interpolation=sharp) if zoom > 1 else image.copy()
    x0, y0, x1, y1 = (edge * zoom for edge in box_xyxy)
    rows, columns = after.shape
    column = np.floor((np.arange(width) + 0.5 - x0) / (x1 - x0) * columns).astype(int)
    row = np.floor((np.arange(height) + 0.5 - y0) / (y1 - y0) * rows).astype(int)
    inside = ((row >= 0) & (row < rows))[:, None] & ((column >= 0) & (column < columns))[None]
    number = np.where(inside, after[row.clip(0, rows - 1)][:, column.clip(0, columns - 1)], -1)
    shade = block_colours(count)[(number - 1).clip(0)]
    painted = np.where((number > 0)[..., None], (1 - SHADE) * large + SHADE * shade, 0.3 * large)
    edges = np.zeros_like(inside)
    edges[1:] |= number[1:] != number[:-1]
    edges[:, 1:] |= number[:, 1:] != number[:, :-1]
    painted[edges] = MARK
    out = painted.round().astype(np.uint8)
    left, top, right, bottom = (round(edge * zoom) for edge in token_xyxy)
    for colour, line in (((0, 0, 0), 5), (MARK, 2)):
        cv2.rectangle(out, (left, top), (right - 1, bottom - 1), colour, line)
    return out


def growth(
    names: Sequence[str], shares: Sequence[float], holding: Sequence[float], words: tuple[str, str], x: str = "block"
) -> "go.Figure":
    """Share of the image (0 to 1) after every block: a bar in the block's colour, and a dot for a second share."""
    import plotly.graph_objects as go

    fill = {"color": ramp(SCALE, *ENDS, len(names))}
    bars = go.Bar(x=list(names), y=[100 * s for s in shares], marker=fill, name=words[0])
    dots = go.Scatter(x=list(names), y=[100 * s for s in holding], mode="markers+lines",
                      marker={"color": CLASSES[0], "size": 9}, name=words[1])  # fmt: skip
    figure = laid_out([bars, dots], x, "% of the image", height=260)
    figure.update_yaxes(range=[0, 105])
    figure.update_xaxes(type="category")
    return figure
