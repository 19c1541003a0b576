"""Accuracy against cost: a point for each model with its name, cost on a logarithmic axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES, OTHERS, faint
from vizkit.figure.template import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

FAMILIES = ("CNN", "ViT", "DeiT", "Swin")
"""Their colours are the same in every chart of the page."""
SOURCES = {"published": "circle", "bundled": "diamond", "yours": "square"}
HEIGHT = 420
EDGE = 0.2
"""Share of the width at either end in which names turn inwards."""


@dataclass(frozen=True)
class Point:
    """`cost` > 0 in the axis's unit, `accuracy` in percent with its standard error where it is known; `line`: points of
    one line are joined in the order of their cost, none where it is empty. `note`: more for the pointer."""

    name: str
    family: str
    cost: float
    accuracy: float
    error: float | None = None
    source: str = "published"
    line: str = ""
    note: str = ""


def accuracy_cost(points: Sequence[Point], x_title: str, y_title: str) -> "go.Figure":
    """Colour says the family, shape where the numbers come from. Nothing is drawn for a cost of 0 or less."""
    drawn = sorted((point for point in points if point.cost > 0), key=lambda point: point.cost)
    families = ordered([point.family for point in drawn])
    colour = {family: colour_of(family, families) for family in families}
    joined = [joining([point for point in drawn if point.line == line], colour)
              for line in dict.fromkeys(point.line for point in drawn if point.line)]  # fmt: skip
    kinds = [(family, source) for family in families for source in SOURCES]
    x, y = np.log10([point.cost for point in drawn]), np.array([point.accuracy for point in drawn])
    side = dict(zip(drawn, sides(x, y), strict=True))
    several = len({point.source for point in drawn}) > 1
    marks = [marking(of, f"{family}, {source}" if several else family, colour[family], side, (x_title, y_title))
             for family, source in kinds
             if (of := [point for point in drawn if (point.family, point.source) == (family, source)])]  # fmt: skip
    figure = laid_out([*joined, *marks], x_title, y_title, height=HEIGHT, showlegend=len(marks) > 1)
    low, high = _widened(x, 0.14)
    figure.update_xaxes(type="log", range=[low, high], tickvals=ticks(10**low, 10**high))
    return figure.update_yaxes(range=_widened(y, 0.12))


def joining(points: Sequence[Point], colour: dict[str, str]) -> Any:  # noqa: ANN401
    import plotly.graph_objects as go

    line = {"color": faint(colour[points[0].family], 0.5), "width": 1.5}
    return go.Scatter(x=[point.cost for point in points], y=[point.accuracy for point in points], mode="lines",
                      line=line, hoverinfo="skip", showlegend=False)  # fmt: skip


def marking(points: Sequence[Point], name: str, colour: str, side: dict[Point, str], titles: tuple[str, str]) -> Any:  # noqa: ANN401
    """Points of one family from one source."""
    import plotly.graph_objects as go

    errors = [point.error or 0.0 for point in points]
    return go.Scatter(
        x=[point.cost for point in points],
        y=[point.accuracy for point in points],
        error_y={"array": errors, "thickness": 1.5, "width": 0} if any(errors) else None,
        mode="markers+text",
        name=literal(name),
        marker={"color": colour, "size": 10, "symbol": SOURCES[points[0].source]},
        text=[literal(point.name) for point in points],
        textposition=[side[point] for point in points],
        textfont={"size": 11},
        cliponaxis=False,
        customdata=[literal(point.note) for point in points],
        hovertemplate=f"<b>%{{text}}</b><br>%{{customdata}}<br>{titles[0]}: %{{x:.4g}}<br>{titles[1]}: %{{y:.2f}}"
        "<extra></extra>",
    )


def sides(x: np.ndarray, y: np.ndarray) -> list[str]:
    """Where each name stands: away from the nearest other point, and inwards near an edge, which would cut it."""
    if len(x) < 2:
        return ["top center"] * len(x)
    at = np.stack([(values - values.min()) / (np.ptp(values) or 1.0) for values in (x, y)], 1)
    apart = np.linalg.norm(at[:, None] - at, axis=-1) + np.diag([np.inf] * len(x))
    inwards = np.select([at[:, 0] < EDGE, at[:, 0] > 1 - EDGE], ["right", "left"], "center")
    return [f"{'top' if value >= y[nearest] else 'bottom'} {way}"
            for value, nearest, way in zip(y, apart.argmin(1), inwards, strict=True)]  # fmt: skip


def ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic axis: as few as make three, at most six where it spans several powers of ten."""
    marks: list[float] = []
    for digits in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9), range(10, 100, 2), range(100, 1000, 5)):
        powers = range(int(np.floor(np.log10(low))) - 2, int(np.ceil(np.log10(high))) + 1)
        every = (float(f"{digit}e{power}") for power in powers for digit in digits)
        marks = sorted({mark for mark in every if low <= mark <= high})
        if len(marks) >= 3:
            break
    return marks[:: -(-len(marks) // 6)] if len(marks) > 6 else marks


def _widened(values: np.ndarray, share: float) -> list[float]:
    """Lowest and highest with room at both ends; about one value alone, half a unit on either side."""
    if not len(values):
        return [0.0, 1.0]
    low, high = float(values.min()), float(values.max())
    room = share * (high - low) or 0.5
    return [low - room, high + room]


def ordered(families: Sequence[str]) -> list[str]:
    """Each once: those that have a colour of their own first, the others as they come."""
    others = dict.fromkeys(family for family in families if family not in FAMILIES)
    return [family for family in FAMILIES if family in families] + list(others)


def colour_of(family: str, families: Sequence[str] = ()) -> str:
    """The colour of a family; one that is not in FAMILIES gets the next free one, by its place among `families`."""
    if family in FAMILIES:
        return CLASSES[FAMILIES.index(family)]
    others = [family for family in families if family not in FAMILIES]
    place = len(FAMILIES) + others.index(family) if family in others else len(CLASSES)
    return CLASSES[place] if place < len(CLASSES) else OTHERS
