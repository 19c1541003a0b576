"""Where the boxes of object queries lie, over many pictures (Carion et al. 2020, figure 7)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import Figure, framed, laid_out, squared
from vizkit.figure.palette import CLASSES, OTHERS

COLUMNS = 4


def habits(
    middles_xy: Sequence[Float[np.ndarray, "_box 2"]], areas: Sequence[Float[np.ndarray, " _box"]], chosen: int
) -> Figure:
    """A square for each query with the middles of its boxes, as shares of the picture; large boxes are large dots. The
    query `chosen` is coloured."""
    import plotly.graph_objects as go

    places = [divmod(query, COLUMNS) for query in range(len(middles_xy))]
    colours = [CLASSES[0] if query == chosen else OTHERS for query in range(len(places))]
    drawn = [
        go.Scatter(
            x=column - 0.5 + points[:, 0],
            y=row - 0.4 + 0.9 * points[:, 1],
            mode="markers",
            marker={"color": colour, "size": 2 + 20 * np.sqrt(area), "opacity": 0.45},
            hovertemplate=f"query {query}<extra></extra>",
            customdata=np.full((len(points), 1), query),
        )
        for query, ((row, column), colour, points, area) in enumerate(
            zip(places, colours, middles_xy, areas, strict=True)
        )
    ]
    words = go.Scatter(
        x=[column - 0.49 for _, column in places],
        y=[row - 0.42 for row, _ in places],
        mode="text",
        text=[f"query {query}: {len(points)} boxes" for query, points in enumerate(middles_xy)],
        textposition="middle right",
        hoverinfo="skip",
    )
    rows = places[-1][0] + 1
    figure = squared(laid_out([*drawn, words], "", "", "", 130 * rows + 20, showlegend=False))
    for (row, column), colour in zip(places, colours, strict=True):
        framed(figure, row, column, colour=colour, width=1 if colour == OTHERS else 3)
    figure.update_xaxes(visible=False, range=[-0.52, COLUMNS - 0.48])
    return figure.update_yaxes(visible=False, range=[rows - 0.48, -0.52])
