"""The loss on a plane of weights, as a map, with the path of a run on it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import Figure, heat_map, line
from vizkit.figure.palette import DARK, LIGHT
from vizkit.figure.scales import Places, robust

HEIGHT = 460


def surface(
    loss: Places,
    x: Float[np.ndarray, " column"],
    y: Float[np.ndarray, " row"],
    words: tuple[str, str],
    path: Float[np.ndarray, "step 2"],
    steps: Sequence[int],
) -> Figure:
    """`words`: what the axes are. `path`: the place of each of the `steps`, (x, y); the last one, which is framed, is
    at 0. Colours begin at the lowest loss of all: where it lies is what is asked."""
    scale = replace(robust([loss]), low=float(loss.min()))
    figure = heat_map(loss[::-1], *words, height=HEIGHT, quantity="loss (nats)", scale=scale)
    hover = "%{x:.3g}, %{y:.3g}: loss %{z:.3g} nats<extra></extra>"
    figure.update_traces(x=x.tolist(), y=y[::-1].tolist(), hovertemplate=hover)
    told = [f"step {step:,}" for step in steps]
    marker = {"size": 7, "color": LIGHT, "line": {"color": DARK, "width": 1.5}}
    dots: dict[str, Any] = {"mode": "lines+markers", "marker": marker, "showlegend": False}
    dots |= {"customdata": told, "hovertemplate": "%{customdata}<extra></extra>"}
    figure.add_trace(line(path[:, 0], path[:, 1], colour=DARK, width=5))  # white alone is lost where the loss is high
    figure.add_trace(line(path[:, 0], path[:, 1], "path", LIGHT, 2, **dots))
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    for colour, width in ((DARK, 5), (LIGHT, 2)):
        ends = dict(zip(("x0", "y0", "x1", "y1"), (-half[0], -half[1], *half), strict=True))
        figure.add_shape(type="rect", line={"color": colour, "width": width}, **ends)
    return figure.update_yaxes(autorange=True)
