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
    low = min(float(each.min()) for each in values.values())
    room = max(1 - low, 1e-3) / 20  # the axis fits the values: those of a transformer stay near 1
    return figure.update_yaxes(range=[low - room, 1 + room])


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
