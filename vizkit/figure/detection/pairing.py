"""Predicted boxes and the things that they are paired with, over the picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import laid_out, squared
from vizkit.figure.palette import CLASSES, DARK, LIGHT
from vizkit.figure.template import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["pairing"]

HEIGHT = 380
Boxes = Float[np.ndarray, "_box 4"]


def pairing(
    seen: str, size_hw: tuple[int, int], said_cxcywh: Boxes, things_cxcywh: Boxes, names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
) -> "go.Figure":  # fmt: skip
    """`seen`: the picture as a data URL, of `size_hw` pixels. `pairs`: (query, thing). A thing's box is drawn whole, in
    a colour of its own; its query's is dotted, and a line joins their middles. Queries without a thing are thin."""
    import plotly.graph_objects as go

    height, width = size_hw
    scale = np.array([width, height, width, height])
    said, things = said_cxcywh * scale, things_cxcywh * scale
    picture = go.Image(source=seen, x0=0.5, y0=0.5, hoverinfo="skip")
    paired = {query for query, _ in pairs}
    drawn = [_box(box, f"query {query}", LIGHT, 0.7, "solid")
             for query, box in enumerate(said) if query not in paired]  # fmt: skip
    drawn += [_box(box, names[thing], CLASSES[thing % len(CLASSES)], 3, "solid") for thing, box in enumerate(things)]
    for query, thing in pairs:
        colour = CLASSES[thing % len(CLASSES)]
        drawn += [_box(said[query], f"query {query} for {names[thing]}", colour, 3, "dot"),
                  *_line(said[query], things[thing], query, colour)]  # fmt: skip
    figure = squared(laid_out([picture, *drawn], "", "", "", HEIGHT, showlegend=False))
    figure.update_xaxes(visible=False, range=[0, width])
    return figure.update_yaxes(visible=False, range=[height, 0])


def _box(box: Float[np.ndarray, "4"], name: str, colour: str, width: float, dash: str) -> Any:  # noqa: ANN401
    import plotly.graph_objects as go

    x, y, across, down = box
    right, low = x + across / 2, y + down / 2
    left, top = x - across / 2, y - down / 2
    return go.Scatter(x=[left, right, right, left, left], y=[top, top, low, low, top], mode="lines",
                      line={"color": colour, "width": width, "dash": dash}, opacity=1 if width > 1 else 0.55,
                      hovertemplate=f"{literal(name)}<extra></extra>")  # fmt: skip


def _line(said: Float[np.ndarray, "4"], thing: Float[np.ndarray, "4"], query: int, colour: str) -> list[Any]:
    """From the middle of the query's box, with its number, to that of its thing; dark below: seen on any ground."""
    import plotly.graph_objects as go

    ends = {"x": [said[0], thing[0]], "y": [said[1], thing[1]], "hoverinfo": "skip"}
    number = {"text": [str(query), ""], "textposition": "top center", "textfont": {"color": LIGHT, "size": 13}}
    marker = {"color": [LIGHT, colour], "size": [7, 10], "line": {"color": DARK, "width": 1}}
    return [go.Scatter(mode="lines", line={"color": DARK, "width": 5}, opacity=0.6, **ends),
            go.Scatter(mode="lines+markers+text", line={"color": colour, "width": 2}, marker=marker,
                       **ends, **number)]  # fmt: skip
