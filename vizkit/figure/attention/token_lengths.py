"""How long the vectors of tokens are after every layer: the band of the patches, and lines."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import MOST_MARKED, curves
from vizkit.figure.palette import OTHERS, faint

if TYPE_CHECKING:
    import plotly.graph_objects as go

BAND = ("lower quartile", "upper quartile")


def token_lengths(lines: Mapping[str, Float[np.ndarray, " layer"]], chosen: int) -> "go.Figure":
    """A line for each name, and between the two of BAND an area; `chosen`: the layer from 0 where a rule stands."""
    depth = np.arange(1, len(next(iter(lines.values()))) + 1)
    drawn = {name: (depth, values) for name, values in lines.items()}
    figure = curves(
        drawn, "layer", "norm of the token", "Norms by layer", mode="lines+markers", marked={float(chosen + 1): "dot"}
    )
    for name in BAND:
        figure.update_traces(mode="lines", line_width=0, showlegend=False, selector={"name": name})
    figure.update_traces(fill="tonexty", fillcolor=faint(OTHERS, 0.25), selector={"name": BAND[1]})
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(dtick=1 if len(depth) <= MOST_MARKED else None)
    return figure.update_layout(legend_traceorder="normal")
