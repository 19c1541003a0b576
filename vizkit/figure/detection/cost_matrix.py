"""What every query costs for every thing, with two ways to choose one query for each thing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES, DARK, LIGHT, SCALE, ramp
from vizkit.figure.template import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["cost_matrix"]


def cost_matrix(
    costs: Float[np.ndarray, "query thing"],
    names: Sequence[str],
    optimal: Sequence[tuple[int, int]],
    greedy: Sequence[tuple[int, int]],
) -> "go.Figure":
    """Queries down, things across, the cheapest brightest. `optimal`, `greedy`: pairs (query, thing), squares and
    crosses."""
    import plotly.graph_objects as go

    queries, things = costs.shape
    shown = [f"{number + 1} {literal(name)}" for number, name in enumerate(names)]
    scale = ramp(SCALE)[::-1]
    heat = go.Heatmap(
        z=costs,
        x=list(range(things)),
        y=list(range(queries)),
        colorscale=scale,
        showscale=False,
        xgap=1,
        ygap=1,
        hovertemplate="query %{y}: %{z:.3f}<extra></extra>",
    )
    middle = (float(costs.min(initial=np.inf)) + float(costs.max(initial=-np.inf))) / 2
    down, across = (each.ravel() for each in np.indices(costs.shape))
    ink = [DARK if cost < middle else LIGHT for cost in costs.ravel()]
    words = [
        go.Scatter(
            x=across,
            y=down,
            mode="text",
            text=[f"{cost:.2f}" for cost in costs.ravel()],
            hoverinfo="skip",
            showlegend=False,
            textfont={"size": 10, "color": ink},
        )
    ]
    marks = [
        go.Scatter(
            x=[thing for _, thing in pairs],
            y=[query for query, _ in pairs],
            mode="markers",
            name=name,
            hoverinfo="skip",
            marker={"symbol": symbol, "size": size, "color": colour, "line": {"color": colour, "width": 3}},
        )
        for pairs, name, symbol, size, colour in (
            (optimal, "optimal", "square-open", 24, CLASSES[2]),
            (greedy, "greedy", "circle-open", 34, CLASSES[5]),
        )
    ]
    figure = laid_out([heat, *words, *marks], "thing", "query", "", 60 + 27 * (queries + 5))
    figure.update_xaxes(tickvals=list(range(things)), ticktext=shown, side="top", title=None, showgrid=False)
    return figure.update_yaxes(autorange="reversed", tickvals=list(range(queries)), showgrid=False)
