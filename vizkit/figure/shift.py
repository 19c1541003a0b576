"""What moving a picture does, by distance: the features of one picture, and the answers to many."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import curves

if TYPE_CHECKING:
    import plotly.graph_objects as go


def cosines(
    distance_px: Sequence[int], values: Mapping[str, Float[np.ndarray, " distance"]], marked_px: int
) -> "go.Figure":
    """`values`: by model, cosine of the features with those of the unmoved picture. `marked_px`: a rule there."""
    lines = {name: (np.array(distance_px), each) for name, each in values.items()}
    figure = curves(
        lines,
        "moved by (pixels of the model's input)",
        "cosine of the features",
        "Features of this picture",
        mode="lines+markers",
        marked={float(marked_px): "dot"},
    )
    figure.update_yaxes(range=[min(0.0, *(float(each.min()) for each in values.values())) - 0.03, 1.03])
    return figure


def right_answers(
    lines: Mapping[str, tuple[Sequence[int], Sequence[float], Sequence[float]]], title: str
) -> "go.Figure":
    """By model: distances in pixels, shares of right answers from 0 to 1, and halves of their 95 % intervals."""
    drawn = {name: (np.array(distances), 100 * np.array(right)) for name, (distances, right, _) in lines.items()}
    figure = curves(drawn, "moved by (pixels)", "right answers (%)", title, mode="lines+markers")
    halves = iter([half for _, _, half in lines.values()])
    figure.for_each_trace(lambda trace: trace.update(error_y={"array": 100 * np.array(next(halves)), "thickness": 1}))
    figure.update_yaxes(range=[0, 103])
    return figure
