"""Curves on two logarithmic axes, where a power law is a straight line and its exponent the slope."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vizkit.figure.charts import curves, rule

if TYPE_CHECKING:
    import plotly.graph_objects as go


def power_laws(
    lines: Mapping[str, tuple[np.ndarray, np.ndarray, float | None]],
    x: str,
    y: str,
    title: str = "",
    *,
    dots: bool = False,
    chosen: float | None = None,
) -> "go.Figure":
    """One line for each name: (x values, y values, exponent in the number of tokens, None where it is not known).

    `dots`: mark the values. `chosen`: the x of which they are marked, and ruled.
    """
    drawn = {name: (xs, ys) for name, (xs, ys, _) in lines.items()}
    figure = curves(drawn, x, y, title, log=True, mode="lines+markers" if dots else "lines")
    for index, (_, _, power) in enumerate(lines.values()):
        if power is not None:
            figure.update_traces(name=f"{figure.data[index]['name']}: ∝ tokens<sup>{power:.2f}</sup>", selector=index)
    for name, (xs, ys, _) in lines.items() if chosen is not None else ():
        marked = {"size": 11, "color": figure.data[list(lines).index(name)].line.color}
        here = ys[xs == chosen]
        figure.add_scatter(x=[chosen] * len(here), y=here, mode="markers", marker=marked, showlegend=False, name=name)
    if chosen is not None:
        rule(figure, chosen, "dot")
    figure.update_layout(height=330)
    return figure.update_yaxes(dtick=1, exponentformat="power")
