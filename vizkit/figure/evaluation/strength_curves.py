"""Probability against the strength of a change: one line for each model, with a rule at the chosen strength."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from numpy import ndarray

from vizkit.figure.charts import Figure, laid_out, line, literal, rule
from vizkit.figure.palette import CLASSES, faint

DASHES = ("solid", "dash", "dot", "dashdot")


def strength_curves(
    shares: Mapping[str, Float[ndarray, "draw strength"]],
    strengths: Sequence[float],
    at: int,
    unit: str,
    *,
    percent: bool = False,
    quantity: str = "probability",
) -> Figure:
    """`shares`: of each model 0 to 1, of one draw of chance or of several: the line is their mean, the band goes from
    the lowest to the highest. `at`: index of the strength that is marked."""
    x, drawn = list(strengths), []
    for (name, each), colour, dash in zip(shares.items(), CLASSES, DASHES, strict=False):
        if len(each) > 1:
            ends = [*each.min(0), *each.max(0)[::-1]]
            area = {"fill": "toself", "fillcolor": faint(colour, 0.2)}
            # Its edge is seen on paper alone, which has no areas.
            drawn.append(line([*x, *x[::-1]], ends, colour=colour, width=0, dash="dot", **area))
        hover = f"%{{x:{'.0%' if percent else '.3g'}}}: %{{y:.1%}}<extra>{literal(name)}</extra>"
        drawn.append(line(x, each.mean(0), literal(name), colour, 2.2, dash, hovertemplate=hover))
    figure = laid_out(drawn, unit, quantity, height=210)
    rule(figure, strengths[at])
    figure.update_xaxes(range=[0, strengths[-1]], nticks=4, tickformat=".0%" if percent else None)
    return figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", tickvals=[0, 0.5, 1])
