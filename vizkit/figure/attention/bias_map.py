"""A bias that has no sign, by offset: Swin v2 squeezes it into 0 to 16, where an even scale shows two colours only."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import laid_out, squared

if TYPE_CHECKING:
    import plotly.graph_objects as go

MARKS = 5  # numbers at the colour bar


def bias_map(
    values: Float[np.ndarray, "head down right"],
    head: int,
    *,
    ranked: bool,
    x_names: Sequence[str],
    y_names: Sequence[str],
    quantity: str = "added to the score",
    height: int = 280,
) -> "go.Figure":
    """One head's bias in logits, with one scale for all heads: the range of all values, or, `ranked`, their ranks from
    0 to 1, with the values written at the colour bar and under the pointer."""
    import plotly.graph_objects as go

    low, high = float(values.min()), float(values.max())
    drawn, scale = values[head], {"zmin": low, "zmax": max(high, low + 1e-6)}
    bar: dict[str, object] = {"title": {"text": quantity, "side": "right"}}
    if ranked:
        drawn, scale = ranks(values)[head], {"zmin": 0.0, "zmax": 1.0}
        at = np.linspace(0, 1, MARKS)
        bar |= {"tickvals": at, "ticktext": [f"{value:.3g}" for value in np.quantile(values, at)]}
    heat = go.Heatmap(
        z=drawn,
        x=x_names,
        y=y_names,
        customdata=values[head],
        colorbar=bar,
        **scale,
        hovertemplate="%{y} down, %{x} right: %{customdata:.4g}<extra></extra>",
    )
    figure = laid_out([heat], "columns right of the query", "rows below the query", f"Head {head + 1}", height)
    figure.update_yaxes(autorange="reversed")
    return squared(figure)


def ranks(values: Float[np.ndarray, "head down right"]) -> Float[np.ndarray, "head down right"]:
    """The share of all values that are smaller, 0 to 1; equal values have the rank of their middle."""
    ordered = np.sort(values, axis=None)
    first, last = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return (first + last - 1) / 2 / max(values.size - 1, 1)
