"""Plots with axes, as plotly figures: heat maps, curves, dots by depth, bars."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT = 340
MARGIN = {"l": 56, "r": 16, "t": 36, "b": 48}


def laid_out(traces: Sequence[Any], x: str, y: str, title: str = "", height: int = HEIGHT, **more: Any) -> "go.Figure":  # noqa: ANN401
    import plotly.graph_objects as go

    figure = go.Figure(list(traces))
    figure.update_layout(title=title, xaxis_title=x, yaxis_title=y, height=height, margin=MARGIN, **more)
    return figure


def heat_map(
    values: np.ndarray,
    x: str,
    y: str,
    title: str = "",
    *,
    signed: bool = False,
    x_names: Sequence[str] | None = None,
    y_names: Sequence[str] | None = None,
    digits: int | None = None,
    height: int = HEIGHT,
    limit: float | None = None,
) -> "go.Figure":
    """(row, column), row 0 on top. Signed values get a diverging scale with white at zero. `digits` writes numbers."""
    import plotly.graph_objects as go

    finite = values[np.isfinite(values)]
    top = limit or float(np.abs(finite).max(initial=0)) or 1.0
    scale = {"colorscale": "RdBu_r", "zmin": -top, "zmax": top} if signed else {"colorscale": "Viridis"}
    if not signed and limit:
        scale |= {"zmin": 0, "zmax": limit}
    text = {"texttemplate": f"%{{z:.{digits}f}}"} if digits is not None else {}
    heat = go.Heatmap(z=values, x=x_names, y=y_names, hoverongaps=False, **scale, **text)
    figure = laid_out([heat], x, y, title, height)
    figure.update_yaxes(autorange="reversed")
    return figure


def curves(
    lines: dict[str, tuple[np.ndarray, np.ndarray]],
    x: str,
    y: str,
    title: str = "",
    *,
    log: bool = False,
    mode: str = "lines",
) -> "go.Figure":
    """One line for each name: (x values, y values). `log`: both axes logarithmic. `mode`: "lines+markers" for dots."""
    import plotly.graph_objects as go

    drawn = [go.Scatter(x=xs, y=ys, mode=mode, name=name) for name, (xs, ys) in lines.items()]
    figure = laid_out(drawn, x, y, title)
    if log:
        figure.update_xaxes(type="log")
        figure.update_yaxes(type="log")
    return figure


def dots_by_depth(
    values: Sequence[np.ndarray],
    y: str,
    title: str = "",
    *,
    spread: Sequence[np.ndarray] | None = None,
    what: str = "head",
) -> "go.Figure":
    """One dot for each head (or token: `what`) against the layer that it stands in; whiskers for a spread."""
    import plotly.graph_objects as go

    depth = np.concatenate([np.full(len(v), i + 1) for i, v in enumerate(values)])
    head = np.concatenate([np.arange(len(v)) + 1 for v in values])
    jitter = np.concatenate([np.linspace(-0.2, 0.2, len(v)) if len(v) > 1 else np.zeros(1) for v in values])
    error = None if spread is None else {"array": np.concatenate(spread), "thickness": 1, "width": 0}
    dots = go.Scatter(
        x=depth + jitter,
        y=np.concatenate(values),
        mode="markers",
        marker={"color": head, "colorscale": "Viridis", "size": 8, "line": {"width": 0.5, "color": "#888"}},
        error_y=error,
        customdata=np.stack([depth, head], -1),
        hovertemplate=f"layer %{{customdata[0]}}, {what} %{{customdata[1]}}: %{{y:.3g}}<extra></extra>",
    )
    figure = laid_out([dots], "layer", y, title)
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(dtick=1 if len(values) <= 12 else None)
    return figure


def bars(names: Sequence[str], values: Sequence[float], x: str, title: str = "") -> "go.Figure":
    """Horizontal bars, the first on top."""
    import plotly.graph_objects as go

    figure = laid_out([go.Bar(x=list(values), y=list(names), orientation="h")], x, "", title, 60 + 28 * len(names))
    figure.update_yaxes(autorange="reversed")
    return figure


def paired_bars(names: Sequence[str], values: Mapping[str, Sequence[float]], x: str, title: str = "") -> "go.Figure":
    """Horizontal bars of several kinds beside each other for every name, the first on top."""
    import plotly.graph_objects as go

    drawn = [go.Bar(x=list(each), y=list(names), orientation="h", name=kind) for kind, each in values.items()]
    figure = laid_out(drawn, x, "", title, 110 + 26 * len(names) * len(values), barmode="group")
    figure.update_yaxes(autorange="reversed", ticksuffix="  ")
    figure.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1.0, "xanchor": "right"})
    return figure
