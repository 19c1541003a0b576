"""Accuracy against the number of training images: a line for each method."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from vizkit.figure.charts import Figure, band, laid_out, line, literal
from vizkit.figure.palette import CLASSES, OTHERS, faint
from vizkit.percent import in_percent

TAUGHT = "DeiT with a teacher"
MARKS = {
    "CNN": ("circle", "●"),
    "ViT": ("square", "■"),
    "DeiT": ("triangle-up", "▲"),
    "Swin": ("diamond", "◆"),
    "MLP": ("cross", "✚"),
    TAUGHT: ("triangle-down", "▼"),
}
"""Of the points of a family, and the same in words; in the order of their colours, as `accuracy_cost` has them."""
HEIGHT = 480
LABEL = 0.045  # of the axis, from one name at the end of a line to the next


@dataclass(frozen=True)
class Line:
    """One method, by `name` and by the `family` that gives it its colour. Shares, at so many training `images`: the
    mean with the `low` and `high` end of its interval."""

    name: str
    family: str
    images: Sequence[int]
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def data_size(lines: Sequence[Line], chance: float | None, sizes: Sequence[int]) -> Figure:
    """Logarithmic in the pictures; a band from `low` to `high`; at the right the name of every line, with its own mark.
    `chance`: what a guess reaches, a dashed line. `sizes`: the ticks."""
    colours = [CLASSES[[*MARKS].index(each.family)] for each in lines]
    drawn: list[Any] = [part for each, colour in zip(lines, colours, strict=True) for part in banded(each, colour)]
    if chance is not None:
        name = f"chance {in_percent(chance, 1)}"
        drawn.append(line(ends_of(sizes), [chance] * 2, name, OTHERS, 1.5, "dash", hoverinfo="skip"))
    figure = _logarithmic(laid_out(drawn, "training images", "test accuracy", height=HEIGHT, showlegend=False), sizes)
    top = min(1.02, 1.05 * max((high for each in lines for high in each.high), default=1.0))
    right = ends_of(sizes)[1]
    for each, colour, y in zip(lines, colours, apart([each.mean[-1] for each in lines], top * LABEL), strict=True):
        figure.add_trace(line([each.images[-1], right], [each.mean[-1], y], colour=faint(colour, 0.45), width=1))
        _named(figure, f"{MARKS[each.family][1]} {literal(each.name)}", y, colour)
    if chance is not None:
        _named(figure, f"chance {in_percent(chance, 1)}", chance, None)
    return figure.update_yaxes(range=[0, top], tickformat=".0%").update_layout(margin={"r": 134})


def _named(figure: Figure, text: str, y: float, colour: str | None) -> None:
    """At the right end of the chart."""
    font = {"color": colour, "size": 12}
    figure.add_annotation(x=1, xref="paper", y=y, xanchor="left", showarrow=False, text=text, font=font)


def apart(places: Sequence[float], least: float) -> list[float]:
    """As near to these places as they can stand `least` apart, in their order; the highest one stays."""
    order = sorted(range(len(places)), key=lambda index: -places[index])
    found = list(places)
    for above, index in pairwise(order):
        found[index] = min(found[index], found[above] - least)
    return found


def banded(method: Line, colour: str) -> list[Any]:
    """Its band and its means."""
    means = line(
        list(method.images),
        list(method.mean),
        method.name,
        colour,
        2.5,
        mode="lines+markers",
        legendgroup=method.name,
        marker={"size": 9, "symbol": MARKS[method.family][0], "line": {"width": 1.5}},
        customdata=list(zip(method.low, method.high, strict=True)),
        hovertemplate="%{x:,} images: %{y:.1%} (%{customdata[0]:.1%} to %{customdata[1]:.1%})"
        "<extra>%{fullData.name}</extra>",
    )
    return [band(method.images, method.low, method.high, colour, method.name), means]


def ends_of(sizes: Sequence[int]) -> list[float]:
    """Of the axis: the first and last number have room beside them."""
    return [sizes[0] * 0.82, sizes[-1] * 1.4]


def _logarithmic(figure: Figure, sizes: Sequence[int]) -> Figure:
    return figure.update_xaxes(
        type="log",
        range=np.log10(ends_of(sizes)).tolist(),
        tickvals=list(sizes),
        ticktext=[f"{size:,}" for size in sizes],
    )
