"""How a receptive field grows: the image shaded by the block after which a place first reaches the token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int, UInt8

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES, SCALE, colours, ramp

if TYPE_CHECKING:
    import plotly.graph_objects as go

SHADE = 0.5
ENDS = (0.2, 0.95)  # of the scale: its first colours are too dark to tell blocks apart
MARK = (255, 255, 255)


def block_colours(count: int) -> UInt8[np.ndarray, "block 3"]:
    """One colour for each block, dark for the first."""
    return colours()[np.linspace(255 * ENDS[0], 255 * ENDS[1], count).round().astype(int)]


def reach(
    seen: UInt8[np.ndarray, "height width 3"], after: Int[np.ndarray, "row column"], count: int, *, side_px: int = 560
) -> UInt8[np.ndarray, "out_height out_width 3"]:
    """The model's input `seen`, each place shaded by the block after which it first reaches the token, 1 to `count`.
    Places that never do, 0, are dimmed; lines run where the number changes."""
    import cv2

    zoom = max(1.0, side_px / max(seen.shape[:2]))
    height, width = (round(side * zoom) for side in seen.shape[:2])
    sharp = cv2.INTER_NEAREST if max(seen.shape[:2]) <= 64 else cv2.INTER_CUBIC  # digits stay squares
    large = cv2.resize(seen, (width, height), interpolation=sharp)
    row, column = (np.arange(side) * places // side for side, places in zip((height, width), after.shape, strict=True))
    number = after[row][:, column]
    shade = block_colours(count)[(number - 1).clip(0)]
    painted = np.where((number > 0)[..., None], (1 - SHADE) * large + SHADE * shade, 0.3 * large)
    painted[1:][number[1:] != number[:-1]] = MARK
    painted[:, 1:][number[:, 1:] != number[:, :-1]] = MARK
    return painted.round().astype(np.uint8)


def growth(
    names: Sequence[str], shares: Sequence[float], holding: Sequence[float], words: tuple[str, str], x: str = "block"
) -> "go.Figure":
    """Share of the image (0 to 1) after every block: a bar in the block's colour, and beside it one for a second
    share."""
    import plotly.graph_objects as go

    fills = (ramp(SCALE, *ENDS, len(names)), CLASSES[2])
    kinds = zip(words, (shares, holding), fills, strict=True)
    bars = [
        go.Bar(x=list(names), y=[100 * s for s in each], marker={"color": ink}, name=name) for name, each, ink in kinds
    ]
    figure = laid_out(bars, x, "% of the image", height=260, barmode="group")
    figure.update_yaxes(range=[0, 105])
    return figure.update_xaxes(type="category")
