"""Accuracy against cost: a point for each model with its name, cost on a logarithmic axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vizkit.figure.charts import Figure, laid_out, line, literal
from vizkit.figure.palette import CLASSES, OTHERS, faint

FAMILIES = ("CNN", "ViT", "DeiT", "Swin")
"""Their colours are the same in every chart of the page."""
SOURCES = {"published": "circle", "bundled": "diamond", "yours": "square", "chosen": "circle", "beside": "circle-open"}
HEIGHT = 420
ROOM_X, ROOM_Y = 0.14, 0.12
"""Beside the outermost points, as shares of what all of them span."""
PLOT_PX, LETTER_PX, TEXT_PX, MARK_PX = (280.0, 290.0), 5.6, 13.0, 12.0
"""Width and height of the plot on a telephone, and what a letter and a mark take of it."""
SPOTS = {
    f"{above} {beside}": (side, up)
    for above, beside, side, up in (
        ("top", "center", 0, 1),
        ("bottom", "center", 0, -1),
        ("middle", "right", 1, 0),
        ("middle", "left", -1, 0),
        ("top", "right", 1, 1),
        ("top", "left", -1, 1),
        ("bottom", "right", 1, -1),
        ("bottom", "left", -1, -1),
    )
}
"""Where a name may stand, as plotly calls it, and how it is moved from its mark, to the right and up."""


@dataclass(frozen=True)
class Point:
    """`cost` > 0 in the axis's unit, `accuracy` in percent with half of its interval where it is known; `line`: points
    of one line are joined in the order of their cost, none where it is empty. `note`: more for the pointer."""

    name: str
    family: str
    cost: float
    accuracy: float
    error: float | None = None
    source: str = "published"
    line: str = ""
    note: str = ""


def accuracy_cost(points: Sequence[Point], x_title: str, y_title: str) -> Figure:
    """Colour says the family, shape where the numbers come from. Nothing is drawn for a cost of 0 or less."""
    drawn = sorted((point for point in points if point.cost > 0), key=lambda point: point.cost)
    families = ordered([point.family for point in drawn])
    colour = {family: colour_of(family, families) for family in families}
    joined = [
        joining([point for point in drawn if point.line == name], colour)
        for name in dict.fromkeys(point.line for point in drawn if point.line)
    ]
    kinds = [(family, source) for family in families for source in SOURCES]
    x, y = np.log10([point.cost for point in drawn]), np.array([point.accuracy for point in drawn])
    whiskers = np.array([point.error or 0.0 for point in drawn])
    side = dict(zip(drawn, spots([point.name for point in drawn], x, y, whiskers), strict=True))
    joined += [whisker(point, colour[point.family]) for point in drawn if point.error]
    several = len({point.source for point in drawn}) > 1
    marks = [
        marking(of, f"{family}, {source}" if several else family, colour[family], side, (x_title, y_title))
        for family, source in kinds
        if (of := [point for point in drawn if (point.family, point.source) == (family, source)])
    ]
    figure = laid_out([*joined, *marks], x_title, y_title, height=HEIGHT, showlegend=len(marks) > 1)
    low, high = _widened(x, ROOM_X)
    figure.update_xaxes(type="log", range=[low, high], tickvals=ticks(10**low, 10**high))
    return figure.update_yaxes(range=_widened(np.concatenate([y - whiskers, y + whiskers]), ROOM_Y))


def joining(points: Sequence[Point], colour: dict[str, str]) -> Any:
    costs, shares = zip(*((point.cost, point.accuracy) for point in points), strict=True)
    return line(costs, shares, colour=faint(colour[points[0].family], 0.5), width=1.5)


def whisker(point: Point, colour: str) -> Any:
    ends = [point.accuracy - (point.error or 0.0), point.accuracy + (point.error or 0.0)]
    return line([point.cost] * 2, ends, colour=colour, width=1.5)


def marking(points: Sequence[Point], name: str, colour: str, side: dict[Point, str], titles: tuple[str, str]) -> Any:
    """Points of one family from one source."""
    import plotly.graph_objects as go

    return go.Scatter(
        x=[point.cost for point in points],
        y=[point.accuracy for point in points],
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


def spots(names: Sequence[str], x: np.ndarray, y: np.ndarray, whiskers: np.ndarray | float = 0.0) -> list[str]:
    """Where each name stands: where it covers least of the other marks and of the names before it, and is not cut; and
    not on its own whisker."""
    bottom, top = np.split(_in_px(np.concatenate([y - whiskers, y + whiskers]), 1), 2)
    along, middle = _in_px(x, 0), (bottom + top) / 2
    marks = [Frame(*at, MARK_PX, MARK_PX) for at in zip(along, middle, strict=True)]
    lines = [Frame(*each) for each in zip(along, middle, [1.0] * len(names), top - bottom, strict=True)]
    placed, chosen = list[Frame](), list[str]()
    for place, name in enumerate(names):
        others = [*placed, *lines, *(mark for other, mark in enumerate(marks) if other != place)]
        frames = {spot: marks[place].beside(len(name) * LETTER_PX, *way) for spot, way in SPOTS.items()}
        spot = min(frames, key=lambda each: frames[each].outside + sum(map(frames[each].covers, others)))
        placed.append(frames[spot])
        chosen.append(spot)
    return chosen


class Frame(NamedTuple):
    """A rectangle by its middle and size, in pixels of the plot."""

    x: float
    y: float
    width: float
    height: float

    def beside(self, width: float, side: int, up: int) -> "Frame":
        """That of a line of text, moved away by `side` and `up`, each −1, 0 or 1."""
        across, along = (self.width + width) / 2, (self.height + TEXT_PX) / 2
        return Frame(self.x + side * across, self.y + up * along, width, TEXT_PX)

    def covers(self, other: "Frame") -> float:
        """The area that both have."""
        across = (self.width + other.width) / 2 - abs(self.x - other.x)
        along = (self.height + other.height) / 2 - abs(self.y - other.y)
        return max(0.0, min(across, self.width, other.width)) * max(0.0, min(along, self.height, other.height))

    @property
    def outside(self) -> float:
        """The area that lies beyond the plot."""
        plot = Frame(PLOT_PX[0] / 2, PLOT_PX[1] / 2, *PLOT_PX)
        return self.width * self.height - self.covers(plot)


def _in_px(values: np.ndarray, axis: int) -> np.ndarray:
    """Places along the plot, from its left or lower end."""
    low, high = _widened(values, (ROOM_X, ROOM_Y)[axis])
    return (values - low) / (high - low) * PLOT_PX[axis]


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
