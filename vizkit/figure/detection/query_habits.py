"""Where the boxes of object queries lie, over many pictures (Carion et al. 2020, figure 7)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from vizkit.figure.charts import laid_out, squared
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.figure.template import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["habits", "sizes"]

COLUMNS = 4


def habits(
    middles_xy: Sequence[Float[np.ndarray, "_box 2"]], areas: Sequence[Float[np.ndarray, " _box"]], chosen: int
) -> "go.Figure":
    """A square for each query with the middles of its boxes, as shares of the picture; large boxes are large dots. The
    query `chosen` is coloured."""
    import plotly.graph_objects as go

    rows = -(-len(middles_xy) // COLUMNS)
    drawn, shapes, words = [], [], []
    for query, (points, area) in enumerate(zip(middles_xy, areas, strict=True)):
        row, column = divmod(query, COLUMNS)
        colour = CLASSES[0] if query == chosen else OTHERS
        width = 2 if query == chosen else 1
        drawn.append(
            go.Scatter(
                x=points[:, 0] + 1.1 * column,
                y=points[:, 1] + 1.25 * row,
                mode="markers",
                marker={"color": colour, "size": 2 + 20 * np.sqrt(area), "opacity": 0.45},
                hovertemplate=f"query {query}<extra></extra>",
                customdata=np.full((len(points), 1), query),
            )
        )
        shapes.append(
            {
                "type": "rect",
                "x0": 1.1 * column,
                "x1": 1.1 * column + 1,
                "y0": 1.25 * row,
                "y1": 1.25 * row + 1,
                "line": {"color": colour, "width": width},
            }
        )
        words.append(
            {
                "x": 1.1 * column,
                "y": 1.25 * row,
                "text": f"{query}: {len(points)}",
                "showarrow": False,
                "xanchor": "left",
                "yanchor": "bottom",
                "font": {"size": 11},
            }
        )
    figure = squared(laid_out(drawn, "", "", "", 130 * rows + 20, showlegend=False, shapes=shapes, annotations=words))
    figure.update_xaxes(visible=False, range=[-0.03, 1.1 * COLUMNS - 0.07])
    return figure.update_yaxes(visible=False, range=[1.25 * rows - 0.2, -0.25])


def sizes(
    boxes_cxcywh: Float[np.ndarray, "box 4"], labels: Int[np.ndarray, " box"], names: Sequence[str]
) -> "go.Figure":
    """The boxes of one query by width and height, coloured by class; `names` of all classes."""
    import plotly.graph_objects as go

    drawn = [
        go.Scatter(
            x=boxes_cxcywh[of, 2],
            y=boxes_cxcywh[of, 3],
            mode="markers",
            name=literal(name),
            marker={"color": CLASSES[label % len(CLASSES)], "size": 8, "opacity": 0.75},
            hovertemplate="%{x:.0%} × %{y:.0%}<extra>" + literal(name) + "</extra>",
        )
        for label, name in enumerate(names)
        if (of := labels == label).any()
    ]
    figure = laid_out(drawn, "width", "height", "", 380)
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    return figure.update_yaxes(range=[0, 1], tickformat=".0%")
