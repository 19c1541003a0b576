"""Stochastic depth as a drawing: for each picture of a batch, which residual branches it goes through."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES, OTHERS

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_PX = 26


def skipped_blocks(
    skipped: Bool[np.ndarray, "image branch"], blocks: Sequence[int], chances: Sequence[float]
) -> "go.Figure":
    """A filled square for a branch that works, a cross for one that is skipped. `blocks`: branches of each block;
    `chances`: of each block, drawn as bars on top."""
    import plotly.graph_objects as go

    of_branch = np.repeat(np.arange(len(blocks)), blocks)
    inside = np.concatenate([np.linspace(-0.2, 0.2, count) if count > 1 else np.zeros(1) for count in blocks])
    images, at = (np.asarray(each) for each in np.indices(skipped.shape))
    x, y = (of_branch + 1 + inside)[at], images + 1
    drawn: list[Any] = [
        go.Bar(x=np.arange(len(blocks)) + 1, y=list(chances), yaxis="y2", name="chance", marker_color=OTHERS,
               hovertemplate="block %{x}: %{y:.1%}<extra></extra>", showlegend=False),
    ]  # fmt: skip
    for mask, name, marker in (
        (~skipped, "works", {"symbol": "square", "size": 12, "color": CLASSES[0]}),
        (skipped, "skipped", {"symbol": "x-thin-open", "size": 10, "color": CLASSES[1], "line": {"width": 3}}),
    ):
        drawn.append(
            go.Scatter(
                x=x[mask],
                y=y[mask],
                mode="markers",
                name=name,
                marker=marker,
                customdata=of_branch[at][mask] + 1,
                hovertemplate=f"picture %{{y}}, block %{{customdata}}: {name}<extra></extra>",
            )
        )
    height = 200 + ROW_PX * len(skipped)
    top = 110 / (height - 100)
    figure = laid_out(drawn, "block", "picture of the batch", height=height)
    figure.update_layout(
        yaxis={
            "domain": [0, 1 - top - 0.06],
            "autorange": "reversed",
            "dtick": 1,
            "showgrid": False,
            "zeroline": False,
        },
        yaxis2={"domain": [1 - top, 1], "title": "chance", "tickformat": ".0%", "rangemode": "tozero", "nticks": 4},
        xaxis={"dtick": 1 if len(blocks) <= 14 else None, "range": [0.4, len(blocks) + 0.6], "showgrid": False},
    )
    return figure
