"""Shares along a number, a line for each network with the band of its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vizkit.figure.charts import laid_out, rule
from vizkit.figure.palette import CLASSES, faint
from vizkit.figure.template import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Banded:
    """At each of `x` the mean, 0 to 1, with the ends of its interval."""

    name: str
    x: Sequence[int]
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def banded_lines(lines: Sequence[Banded], x: str, y: str, learned: int | None = None) -> "go.Figure":
    """`learned`: where what was trained with ends, a dotted rule."""
    import plotly.graph_objects as go

    drawn = []
    for line, ink in zip(lines, CLASSES, strict=False):
        drawn += [
            go.Scatter(x=[*line.x, *reversed(line.x)], y=[*line.high, *reversed(line.low)], fill="toself", mode="lines",
                       fillcolor=faint(ink, 0.18), line={"width": 0}, hoverinfo="skip", showlegend=False),
            go.Scatter(x=list(line.x), y=list(line.mean), mode="lines+markers", name=literal(line.name),
                       line={"color": ink, "width": 2.5}, customdata=list(zip(line.low, line.high, strict=True)),
                       hovertemplate="%{x}: %{y:.0%} (%{customdata[0]:.0%} to %{customdata[1]:.0%})"
                                     "<extra>%{fullData.name}</extra>"),
        ]  # fmt: skip
    figure = laid_out(drawn, x, y, height=420, showlegend=True)
    if learned is not None:
        rule(figure, float(learned), "dot")
    return figure.update_yaxes(range=[-0.02, 1.05], tickformat=".0%")
