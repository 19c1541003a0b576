"""Curves on two logarithmic axes, where a power law is a straight line and its exponent the slope."""

from collections.abc import Mapping

import numpy as np

from vizkit.figure.charts import Figure, curves, literal, rule
from vizkit.figure.palette import CLASSES


def power_laws(
    lines: Mapping[str, tuple[np.ndarray, np.ndarray, float | None]],
    x: str,
    y: str,
    title: str = "",
    *,
    chosen: float | int | None = None,
) -> Figure:
    """One line for each name: (x values, y values, exponent in the number of tokens, None where it is not known).
    `chosen`: the x whose values are marked, and ruled."""
    drawn = {name: (xs, ys) for name, (xs, ys, _) in lines.items()}
    figure = curves(drawn, x, y, title, log=True)
    for index, (name, (xs, ys, power)) in enumerate(lines.items()):
        words, ink = literal(name), CLASSES[index]
        if power is not None:
            words += f": as tokens to the power {power:.2f}"
        figure.update_traces(name=words, selector=index)
        here = xs == chosen
        marker = {"size": 11, "color": ink}
        figure.add_scatter(x=xs[here], y=ys[here], mode="markers", marker=marker, showlegend=False, name=words)
        end = {"x": xs[-1:], "y": ys[-1:], "text": [literal(name)], "textposition": "top left"}
        figure.add_scatter(**end, mode="text", textfont={"color": ink}, showlegend=False, hoverinfo="skip")
    if chosen is not None:
        rule(figure, float(chosen), "dot")
    sides = sorted({float(each) for xs, _, _ in lines.values() for each in xs})
    ticks = sides[:1]
    for side in sides:
        if side >= 1.4 * ticks[-1]:  # with room for its number
            ticks.append(side)
    figure.update_xaxes(tickvals=ticks, ticktext=[f"{side:g}" for side in ticks])
    figure.update_layout(height=330)
    return figure.update_yaxes(dtick=1, exponentformat="power")
