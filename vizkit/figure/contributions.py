"""A number as a sum: bars for what each layer adds, and a line for the sum so far."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES, OTHERS

if TYPE_CHECKING:
    import plotly.graph_objects as go


def contributions(
    first: float,
    attention: Float[np.ndarray, " layer"],
    mlp: Float[np.ndarray, " layer"],
    last: float,
    total: float,
    before: int = 0,
    number: str = "logit",
) -> "go.Figure":
    """`first`: of the embedding, and of the layers `before`; `last`: of the biases; the sum of all is `total`,
    which is called `number`."""
    import plotly.graph_objects as go

    layers = [str(number) for number in range(before + 1, before + len(mlp) + 1)]
    entering = f"up to {before}" if before else "embedding"
    names = [entering, *layers, "biases"]
    so_far = first + np.concatenate([[0.0], np.cumsum(attention + mlp), [float(np.sum(attention + mlp)) + last]])
    hover = "%{x}: %{y:+.3f}"
    figure = laid_out(
        [
            go.Bar(x=layers, y=attention, name="attention", marker_color=CLASSES[0], hovertemplate=hover),
            go.Bar(x=layers, y=mlp, name="MLP", marker_color=CLASSES[1], hovertemplate=hover),
            go.Bar(x=[entering, "biases"], y=[first, last], name="the rest", marker_color=OTHERS, hovertemplate=hover),
            go.Scatter(
                x=names,
                y=so_far,
                name="sum so far",
                mode="lines+markers",
                line={"color": OTHERS, "width": 1.5, "dash": "dot"},
                marker={"size": 5},
                hovertemplate=hover,
            ),
        ],
        "layer",
        f"added to the {number}",
        f"The {number}, {total:.2f}, as a sum",
        barmode="relative",
    )
    return figure.update_xaxes(type="category", categoryorder="array", categoryarray=names)
