"""Accuracy against cost as a Vega-Lite chart: a point for each model, its name beside it, cost on a log axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vizkit.figure.palette import CLASSES, OTHERS

FAMILIES = ("CNN", "ViT", "DeiT", "Swin")
"""Their colours are the same in every chart of the page."""
SOURCES = {"published": "circle", "bundled": "diamond", "yours": "square"}
HEIGHT, NARROW_PX = 340, 300  # names are placed for the width of a phone, so that a wide chart has room to spare
LETTER_PX, LINE_PX, APART_PX = 6.2, 13.0, 9.0
TEXT = "currentColor"  # of the page, light or dark
Spec = dict[str, Any]


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


def accuracy_cost(points: Sequence[Point], x_title: str, y_title: str) -> Spec:
    """Colour says the family, shape where the numbers come from. Nothing is drawn for a cost of 0 or less."""
    import pandas as pd

    drawn = [point for point in points if point.cost > 0]
    x, y = (np.array([getattr(point, each) for point in drawn], float) for each in ("cost", "accuracy"))
    (x_low, x_high), (y_low, y_high) = widened(np.log10(x), 0.12), widened(y, 0.08)
    at = np.stack([(np.log10(x) - x_low) / (x_high - x_low) * NARROW_PX,
                   (y_high - y) / (y_high - y_low) * HEIGHT], 1) if drawn else np.zeros((0, 2))  # fmt: skip
    sides = beside(at, [LETTER_PX * len(point.name) for point in drawn])
    rows = pd.DataFrame([
        {"name": point.name, "family": point.family, "cost": point.cost, "accuracy": point.accuracy,
         "low": point.accuracy - (point.error or 0), "high": point.accuracy + (point.error or 0),
         "from": point.source, "line": point.line, "note": point.note, "side": side}
        for point, side in zip(drawn, sides, strict=True)
    ], columns=["name", "family", "cost", "accuracy", "low", "high", "from", "line", "note", "side"])  # fmt: skip
    families = ordered([point.family for point in drawn])
    sources = [each for each in SOURCES if any(point.source == each for point in drawn)]
    legend = {"orient": "bottom", "title": None, "columns": 4, "symbolOpacity": 1}
    across = {"field": "cost", "type": "quantitative", "title": x_title,
              "scale": {"type": "log", "domain": [float(10**x_low), float(10**x_high)], "nice": False},
              "axis": {"values": ticks(10.0**x_low, 10.0**x_high),
                       "format": "~g", "gridOpacity": 0.4}}  # fmt: skip
    up = {"field": "accuracy", "type": "quantitative", "title": y_title, "axis": {"gridOpacity": 0.4, "tickCount": 5},
          "scale": {"domain": [float(y_low), float(y_high)], "nice": False, "zero": False}}  # fmt: skip
    colour = {"field": "family", "type": "nominal", "legend": legend if len(families) > 1 else None,
              "scale": {"domain": families, "range": [colour_of(each, families) for each in families]}}  # fmt: skip
    shape = {"field": "from", "type": "nominal", "legend": legend if len(sources) > 1 else None,
             "scale": {"domain": sources, "range": [SOURCES[each] for each in sources]}}  # fmt: skip
    tips: list[Spec] = [{"field": "name", "title": "model"}, {"field": "note", "title": " "}]
    tips += [{"field": field, "title": title, "type": "quantitative", "format": style}
             for field, title, style in (("cost", x_title, ".4~g"), ("accuracy", y_title, ".2f"))]  # fmt: skip
    return {
        "datasets": {"points": rows},
        "data": {"name": "points"},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"top": 4, "bottom": 0, "left": 2, "right": 4},
        "height": HEIGHT,
        "encoding": {"x": across, "y": up},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.5}, "transform": [{"filter": "datum.line"}],
             "encoding": {"color": colour, "detail": {"field": "line", "type": "nominal"}}},
            {"mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.8},
             "encoding": {"color": colour, "y": up | {"field": "low"}, "y2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
             "encoding": {"color": colour, "shape": shape, "tooltip": tips}},
            *(names(side) for side in OFFSETS if side in sides),
        ],
    }  # fmt: skip


OFFSETS = {  # where a name stands: text's alignment, and its distance from the point
    "right": ("left", APART_PX, 0.0),
    "left": ("right", -APART_PX, 0.0),
    "above": ("center", 0.0, -1.3 * APART_PX),
    "below": ("center", 0.0, 1.3 * APART_PX),
}


def names(side: str) -> Spec:
    align, dx, dy = OFFSETS[side]
    return {
        "mark": {"type": "text", "align": align, "baseline": "middle", "dx": dx, "dy": dy, "fontSize": 12,
                 "color": TEXT, "clip": False},
        "transform": [{"filter": f"datum.side == '{side}'"}],
        "encoding": {"text": {"field": "name", "type": "nominal"}},
    }  # fmt: skip


def beside(at: np.ndarray, widths_px: Sequence[float]) -> list[str]:
    """For each point (x, y in pixels, y downwards) the side of OFFSETS on which its name covers least of the other
    points and names and stays inside the frame. Greedy, from the left; the first side wins a draw."""
    chosen = [""] * len(at)
    dots = [np.array([x - 5, y - 5, x + 5, y + 5]) for x, y in at]
    boxes = list[np.ndarray]()
    for i in sorted(range(len(at)), key=lambda i: (at[i][0], at[i][1])):
        tried = {side: box_of(at[i], widths_px[i], side) for side in OFFSETS}
        others = [*boxes, *dots[:i], *dots[i + 1 :]]
        cost = {side: sum(shared(box, other) for other in others) + 4 * outside(box) for side, box in tried.items()}
        chosen[i] = min(cost, key=lambda side: cost[side])
        boxes.append(tried[chosen[i]])
    return chosen


def box_of(at: np.ndarray, width_px: float, side: str) -> np.ndarray:
    """(x0, y0, x1, y1) of a name in pixels."""
    align, dx, dy = OFFSETS[side]
    x0 = at[0] + dx - {"left": 0.0, "right": width_px, "center": width_px / 2}[align]
    return np.array([x0, at[1] + dy - LINE_PX / 2, x0 + width_px, at[1] + dy + LINE_PX / 2])


def shared(one: np.ndarray, other: np.ndarray) -> float:
    """The area that two boxes have in common, in square pixels."""
    width, height = (min(one[2 + axis], other[2 + axis]) - max(one[axis], other[axis]) for axis in (0, 1))
    return float(max(0.0, width) * max(0.0, height))


def outside(box: np.ndarray) -> float:
    """The area of a box that lies outside the frame."""
    return (box[2] - box[0]) * (box[3] - box[1]) - shared(box, np.array([0.0, 0.0, NARROW_PX, HEIGHT]))


def ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic axis: as few as make three, at most six where it spans several powers of ten."""
    found: list[float] = []
    for digits in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9), range(10, 100, 2), range(100, 1000, 5)):
        powers = range(int(np.floor(np.log10(low))) - 2, int(np.ceil(np.log10(high))) + 1)
        marks = (float(f"{digit}e{power}") for power in powers for digit in digits)
        found = sorted({mark for mark in marks if low <= mark <= high})
        if len(found) >= 3:
            break
    return found[:: -(-len(found) // 6)] if len(found) > 6 else found


def widened(values: np.ndarray, share: float) -> tuple[float, float]:
    """Lowest and highest with room at both ends; about one value alone, half a unit on either side."""
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room = share * (high - low) or 0.5
    return low - room, high + room


def ordered(families: Sequence[str]) -> list[str]:
    """Each once: those that have a colour of their own first, the others as they come."""
    others = dict.fromkeys(each for each in families if each not in FAMILIES)
    return [each for each in FAMILIES if each in families] + list(others)


def colour_of(family: str, families: Sequence[str] = ()) -> str:
    """The colour of a family; one that is not in FAMILIES gets the next free one, by its place among `families`."""
    if family in FAMILIES:
        return CLASSES[FAMILIES.index(family)]
    others = [each for each in families if each not in FAMILIES]
    place = len(FAMILIES) + others.index(family) if family in others else len(CLASSES)
    return CLASSES[place] if place < len(CLASSES) else OTHERS
