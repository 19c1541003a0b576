"""How long the vectors of tokens are after every layer: the band of the patches, and lines."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import LOGARITHMIC, MOST_MARKED, Figure, curves
from vizkit.figure.palette import OTHERS, faint


def token_lengths(lines: Mapping[str, Float[np.ndarray, " layer"]], chosen: int) -> Figure:
    """A line for each name, on a logarithmic axis, for norms grow from layer to layer; instead of the first two the
    area between them, with the second's name. `chosen`: the layer from 0 where a rule stands."""
    depth = np.arange(1, len(next(iter(lines.values()))) + 1)
    drawn = {name: (depth, values) for name, values in lines.items()}
    figure = curves(
        drawn, "layer", "norm, logarithmic", "Norms by layer", mode="lines+markers", marked={float(chosen + 1): "dot"}
    )
    lower, band = list(lines)[:2]
    figure.update_traces(mode="lines", line_width=0, showlegend=False, selector={"name": lower})
    area = {"mode": "lines", "line_width": 0, "fill": "tonexty", "fillcolor": faint(OTHERS, 0.25)}
    figure.update_traces(**area, selector={"name": band})
    figure.update_yaxes(LOGARITHMIC)
    figure.update_xaxes(dtick=1 if len(depth) <= MOST_MARKED else None)
    return figure.update_layout(legend_traceorder="normal")
