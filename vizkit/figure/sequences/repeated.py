"""Shares along a number, measured several times: a thick line for the mean, a thin one for every run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vizkit.figure.charts import laid_out, literal, rule
from vizkit.figure.palette import CLASSES
from vizkit.percent import in_percent

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Repeated:
    """`runs`: of each its shares at `x`, 0 to 1."""

    name: str
    x: Sequence[int]
    runs: Sequence[Sequence[float]]


def repeated_lines(lines: Sequence[Repeated], x: str, y: str, learned: int | None = None) -> "go.Figure":
    """`learned`: where what was trained with ends, a dotted rule."""
    import plotly.graph_objects as go

    drawn = []
    for line, ink in zip(lines, CLASSES, strict=False):
        several = line.runs if len(line.runs) > 1 else ()
        drawn += [
            go.Scatter(
                x=list(line.x),
                y=list(run),
                mode="lines",
                line={"color": ink, "width": 1},
                opacity=0.5,
                hoverinfo="skip",
                showlegend=False,
                legendgroup=line.name,
            )
            for run in several
        ]
        each = [", ".join(in_percent(share) for share in shares) for shares in zip(*line.runs, strict=True)]
        drawn.append(
            go.Scatter(
                x=list(line.x),
                y=np.mean(line.runs, axis=0).tolist(),
                mode="lines+markers",
                name=literal(line.name),
                line={"color": ink, "width": 2.5},
                legendgroup=line.name,
                customdata=each,
                hovertemplate="%{x}: %{y:.0%} (%{customdata})<extra>%{fullData.name}</extra>",
            )
        )
    figure = laid_out(drawn, x, y, height=420, showlegend=True)
    if learned is not None:
        rule(figure, float(learned), "dot")
    return figure.update_yaxes(range=[-0.02, 1.05], tickformat=".0%")
