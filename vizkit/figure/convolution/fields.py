"""Receptive fields: on the image what a unit can see and what it mostly uses, and how both grow with depth."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.charts import laid_out
from vizkit.figure.overlay import overlay
from vizkit.figure.palette import CLASSES
from vizkit.figure.scales import SHARES
from vizkit.geometry import Box, out_of_box

if TYPE_CHECKING:
    import plotly.graph_objects as go

SEEN, USED = (255, 255, 255), (96, 210, 255)
HIGHEST = 0.7  # no place of the image lies farther from the middle than half the side, along an axis
DASHES = ("dot", "solid", "dash")


class Line(NamedTuple):
    """One quantity of one model: `depth` from 0 (pixels) to 1 (the last layer), `reach` from the middle of the image,
    as a share of its longer side: models of other inputs have other pixels."""

    model: str
    quantity: str
    depth: Sequence[float]
    reach: Sequence[float]


def on_image(
    image: UInt8[np.ndarray, "height width 3"],
    share: Float[np.ndarray, "row column"],
    box_xyxy: Box,
    seen_xyxy: Box | None,
    used_xyxy: Box,
    *,
    side_px: int = 640,
) -> UInt8[np.ndarray, "out_height out_width 3"]:
    """`share`: the effect of every pixel of the model's input, which lies at `box_xyxy` on the image. Two frames in
    pixels of that input: white around what the unit can see, blue around what it mostly uses; what lies outside the
    image is left out."""
    import cv2

    zoom = max(1, round(side_px / max(image.shape[:2])))
    large = image.repeat(zoom, 0).repeat(zoom, 1)
    x0, y0, x1, y1 = (edge * zoom for edge in box_xyxy)
    out = overlay(large, share, (x0, y0, x1, y1), scale=SHARES)
    rows, columns = share.shape
    for frame, colour in ((seen_xyxy, SEEN), (used_xyxy, USED)):
        if frame is None:
            continue
        corners = [(frame[0], frame[1]), (frame[2], frame[3])]
        on_large = [
            out_of_box((x / columns, y / rows), (x0, y0, x1, y1), (out.shape[0], out.shape[1])) for x, y in corners
        ]
        (left, top), (right, bottom) = ((round(x * out.shape[1]), round(y * out.shape[0])) for x, y in on_large)
        for ink, width in (((0, 0, 0), 6), (colour, 3)):
            cv2.rectangle(out, (left, top), (right - 1, bottom - 1), ink, width)
    return out


def by_depth(lines: Sequence[Line]) -> "go.Figure":
    """A colour for each model, a dash for each quantity, in the order in which they come; a field that reaches
    beyond the image leaves the chart."""
    import plotly.graph_objects as go

    models, quantities = (list(dict.fromkeys(line[i] for line in lines)) for i in (0, 1))
    widths = {model: 2.5 + 2 * place for place, model in enumerate(reversed(models))}  # none hides one below it
    drawn = [
        go.Scatter(
            x=[100 * depth for depth in line.depth],
            y=list(line.reach),
            mode="lines+markers",
            marker={"size": 7},
            name=f"{line.model}: {line.quantity}",
            line={
                "color": CLASSES[models.index(line.model)],
                "width": widths[line.model],
                "dash": DASHES[quantities.index(line.quantity)],
            },
            hovertemplate="%{x:.0f} % of the depth: %{y:.0%} of the side"
            f"<extra>{line.model}: {line.quantity}</extra>",
        )
        for line in lines
    ]
    figure = laid_out(drawn, "depth of the network, %", "from the middle, share of the side", height=460)
    figure.update_yaxes(range=[0, HIGHEST], tickformat=".0%")
    figure.update_xaxes(range=[0, 103])
    return figure
