"""A loss over temperature and the teacher's share, with lines of equal loss and the present point."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vizkit.figure.charts import laid_out, lying
from vizkit.figure.distillation.lines_at import decades
from vizkit.figure.palette import DARK, LIGHT

if TYPE_CHECKING:
    import plotly.graph_objects as go


def loss_surface(
    temperatures: np.ndarray,
    shares: np.ndarray,
    values: np.ndarray,
    levels: Sequence[tuple[float, np.ndarray]],
    at: tuple[float, float],
    *,
    height: int = 340,
) -> "go.Figure":
    """`values` by (share, temperature); temperatures evenly on a logarithmic axis, shares evenly from 0 to 1. `levels`:
    (loss, its share at every temperature, NaN for none). `at`: the present (temperature, share)."""
    import plotly.graph_objects as go

    heat = go.Heatmap(
        x=temperatures,
        y=shares,
        z=values,
        colorbar=lying("loss (nats)"),
        hovertemplate="T %{x:.3g}, λ %{y:.2f}: %{z:.3g} nats<extra></extra>",
    )
    lines = [
        go.Scatter(
            x=temperatures, y=line, mode="lines", line={"color": LIGHT, "width": 1.2}, opacity=0.75, hoverinfo="skip"
        )
        for _, line in levels
    ]
    point = go.Scatter(
        x=[at[0]],
        y=[at[1]],
        mode="markers",
        hoverinfo="skip",
        cliponaxis=False,
        marker={"size": 14, "color": LIGHT, "line": {"color": DARK, "width": 2.5}},
    )
    figure = laid_out([heat, *lines, point], "temperature T", "teacher's share λ", height=height, showlegend=False)
    figure.update_xaxes(type="log", range=np.log10(temperatures[[0, -1]]).tolist(), tickvals=decades(temperatures))
    return figure.update_yaxes(range=[0, 1])
