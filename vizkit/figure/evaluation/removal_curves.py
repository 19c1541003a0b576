"""The class's probability while places are taken away, or put back, in the order of each map."""

from collections.abc import Mapping, Sequence

import numpy as np

from vizkit.figure.charts import Figure, laid_out, line, rule
from vizkit.figure.palette import CLASSES, OTHERS


def removal_curves(
    lines: Mapping[str, np.ndarray],
    share: np.ndarray,
    chance: np.ndarray | None,
    x: str,
    title: str,
    *,
    colours: Sequence[str] = CLASSES,
    at: float | None = None,
    y: str = "probability of the class",
    percent: bool = True,
) -> Figure:
    """One line for each method, named, in the order given; `chance`, the mean of random orders, is dashed and grey.

    Every line has the length of `share`, 0 to 1 of the places; values, called `y`, are 0 to 1, read in `percent`. `at`:
    a place on the axis that is marked. `colours`: of each line; where one is there again, that line is dotted.
    """
    dashes = ["dot" if colour in colours[:i] else "solid" for i, colour in enumerate(colours)]
    drawn = [
        line(share, values, name, colour, 2, dash)
        for (name, values), colour, dash in zip(lines.items(), colours, dashes, strict=False)
    ]
    if chance is not None:
        drawn.append(line(share, chance, "random order", OTHERS, 3, "dash"))
    figure = laid_out(drawn, x, y, title, height=420, hovermode="x unified")
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    figure.update_yaxes(tickformat=".0%" if percent else "", range=[0, 1])
    if at is not None:
        rule(figure, at, "dot")
    return figure
