"""Shares along a number, measured several times: a thick line for the mean, a thin one for every run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vizkit.figure.charts import Figure, laid_out, line, literal, rule
from vizkit.figure.palette import CLASSES
from vizkit.percent import in_percent


@dataclass(frozen=True)
class Repeated:
    """`runs`: of each its shares at `x`, 0 to 1."""

    name: str
    x: Sequence[int]
    runs: Sequence[Sequence[float]]


def repeated_lines(lines: Sequence[Repeated], x: str, y: str, learned: int | None = None) -> Figure:
    """`learned`: where what was trained with ends, a dotted rule."""
    drawn = []
    for each, ink in zip(lines, CLASSES, strict=False):
        several = each.runs if len(each.runs) > 1 else ()
        drawn += [
            line(list(each.x), list(run), colour=ink, width=1, opacity=0.5, legendgroup=each.name) for run in several
        ]
        percents = [", ".join(in_percent(share) for share in shares) for shares in zip(*each.runs, strict=True)]
        drawn.append(
            line(
                list(each.x),
                np.mean(each.runs, axis=0).tolist(),
                literal(each.name),
                ink,
                mode="lines+markers",
                legendgroup=each.name,
                customdata=percents,
                hovertemplate="%{x}: %{y:.0%} (%{customdata})<extra>%{fullData.name}</extra>",
            )
        )
    figure = laid_out(drawn, x, y, height=420, showlegend=True)
    if learned is not None:
        rule(figure, float(learned), "dot")
    return figure.update_yaxes(range=[-0.02, 1.05], tickformat=".0%")
