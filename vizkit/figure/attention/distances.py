"""Mean attention distance by depth, with the distance that no head can exceed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vizkit.figure.charts import dots_by_depth
from vizkit.figure.palette import OTHERS

if TYPE_CHECKING:
    import plotly.graph_objects as go


def distances(
    values: Sequence[np.ndarray], caps: Sequence[float], top_px: float, cap: str, depth: int = 0
) -> "go.Figure":
    """`values`: for every layer one distance for each head, in pixels. `caps`: the largest that each layer allows,
    drawn as steps and called `cap`. `top_px`, `depth`: where the axes end, the same for figures that are compared."""
    import plotly.graph_objects as go

    figure = dots_by_depth(values, "pixels", depth=depth)
    x, y = [], []
    for index, most in enumerate(caps):
        x += [index + 0.55, index + 1.45, None]
        y += [most, most, None]
    line = {"color": OTHERS, "width": 2}
    figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line=line, name=cap, showlegend=True))
    figure.update_yaxes(range=[0, 1.05 * top_px])
    return figure
