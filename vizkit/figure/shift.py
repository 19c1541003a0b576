"""What moving an image does, by distance: the answers to one, and to many."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import Figure, curves
from vizkit.figure.palette import CLASSES, OTHERS

LEAST = 0.1
X = "moved by (pixels of the model's input)"


def answers(
    distance_px: Sequence[int],
    values: Mapping[str, Float[np.ndarray, " distance"]],
    named: Mapping[str, Sequence[str]],
    marked_px: int,
    quantity: str,
) -> Figure:
    """`values`: by model, that of its answer to the unmoved image at every distance; `named`: what it answers there,
    with a cross where that is another one. `marked_px`: a rule there."""
    lines = {name: (np.array(distance_px), each) for name, each in values.items()}
    title = "What is left of the answer to the unmoved image"
    figure = curves(lines, X, quantity, title, mode="lines+markers", marked={float(marked_px): "dot"})
    still = list(distance_px).index(0)
    for trace, each in zip(figure.data, named.values(), strict=True):
        trace.update(text=list(each), hovertemplate="%{x} pixels: %{y:.3g}, answer %{text}<extra></extra>")
    others = [
        (px, float(values[name][at]), answer)
        for name, each in named.items()
        for at, (px, answer) in enumerate(zip(distance_px, each, strict=True))
        if answer != each[still]
    ]
    if others:
        x, y, texts = zip(*others, strict=True)
        marker = {"symbol": "x-thin", "size": 12, "line": {"width": 2, "color": OTHERS}}
        figure.add_scatter(x=x, y=y, text=texts, mode="markers", marker=marker, name="another answer")
    return _fitted(figure, [*values.values()])


def _fitted(figure: Figure, values: Sequence[Float[np.ndarray, " distance"]]) -> Figure:
    """The axis holds the values and no more, but a tenth at least: those of a steady model do not seem to fall."""
    low, high = (float(end([end(each) for each in values])) for end in (np.min, np.max))
    low = min(low, high - LEAST)
    room = (high - low) / 20
    return figure.update_yaxes(range=[low - room, high + room])


def right_answers(
    lines: Mapping[str, tuple[Sequence[int], Sequence[float], Sequence[float]]], first: Sequence[str]
) -> Figure:
    """By model: distances in pixels, shares of right answers from 0 to 1, and halves of their 95 % intervals. `first`:
    the models of the chart above, whose colours are taken in their order."""
    drawn = {name: (np.array(distances), 100 * np.array(right)) for name, (distances, right, _) in lines.items()}
    figure = curves(drawn, X, "right answers (%)", mode="lines+markers")
    order = [*first, *(name for name in lines if name not in first)]
    for trace in figure.data:
        trace.update(
            {"line.color": (colour := CLASSES[order.index(trace.name) % len(CLASSES)]), "marker.color": colour}
        )
    halves = iter([half for _, _, half in lines.values()])
    figure.for_each_trace(lambda trace: trace.update(error_y={"array": 100 * np.array(next(halves)), "thickness": 1}))
    ends = [100 * (np.array(right) + sign * np.array(half)) for _, right, half in lines.values() for sign in (-1, 1)]
    return _fitted(figure, ends)
