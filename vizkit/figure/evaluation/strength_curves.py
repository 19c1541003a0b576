"""Probability against the strength of a change: one line for each model, with a rule at the chosen strength."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxtyping import Float
from numpy import ndarray

from vizkit.figure.charts import laid_out, literal, rule
from vizkit.figure.palette import CLASSES, faint

if TYPE_CHECKING:
    import plotly.graph_objects as go

DASHES = ("solid", "dash", "dot", "dashdot")


def strength_curves(
    shares: Mapping[str, Float[ndarray, "draw strength"]],
    strengths: Sequence[float],
    at: int,
    unit: str,
    *,
    percent: bool = False,
    quantity: str = "probability",
) -> "go.Figure":
    """`shares`: of each model 0 to 1, of one draw of chance or of several: the line is their mean, the band goes from
    the lowest to the highest. `at`: index of the strength that is marked."""
    import plotly.graph_objects as go

    x, drawn = list(strengths), []
    for (name, each), colour, dash in zip(shares.items(), CLASSES, DASHES, strict=False):
        if len(each) > 1:
            ends = [*each.min(0), *each.max(0)[::-1]]
            edge = {"width": 0, "color": colour, "dash": "dot"}  # of paper alone, which has no areas
            band = {"fill": "toself", "fillcolor": faint(colour, 0.2), "line": edge, "hoverinfo": "skip"}
            drawn.append(go.Scatter(x=[*x, *x[::-1]], y=ends, mode="lines", showlegend=False, **band))
        line = {"color": colour, "width": 2.2, "dash": dash}
        hover = f"%{{x:{'.0%' if percent else '.3g'}}}: %{{y:.1%}}<extra>{literal(name)}</extra>"
        drawn.append(go.Scatter(x=x, y=each.mean(0), mode="lines", name=literal(name), line=line, hovertemplate=hover))
    figure = laid_out(drawn, unit, quantity, height=210)
    rule(figure, strengths[at])
    figure.update_xaxes(range=[0, strengths[-1]], nticks=4, tickformat=".0%" if percent else None)
    return figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", tickvals=[0, 0.5, 1])
