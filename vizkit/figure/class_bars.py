"""A bar for each class, as a Vega-Lite chart: one bar now, and a tick where it stood before.

Vega-Lite and not plotly, because Streamlit then changes the bars in place while a slider moves: everything that moves
is in `datasets`, the rest of the chart stays the same.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

FLOOR = 1e-6  # where a logarithmic axis begins; a shorter bar is drawn as nothing
ROW_PX = 38  # name and number above, bar below: a bar is as wide as its column, in which a name may be long
LIFT_PX, NUMBER_PX = 8, 52
TEXT = "currentColor"  # of the page, light or dark: the drawing is SVG and inherits it
INK = "#8a8fa3"  # of ticks: stands out from a white and from a nearly black page
POWERS = "datum.value == 1 ? '1' : datum.value > 0.005 ? '10⁻²' : datum.value > 5e-5 ? '10⁻⁴' : '10⁻⁶'"

Spec = dict[str, Any]


def class_bars(
    names: Sequence[str],
    values: Sequence[float],
    colours: Sequence[str],
    *,
    before: Sequence[float] | None = None,
    log: bool = False,
    signed: bool = False,
    top: float = 1.0,
    title: str | None = None,
) -> Spec:
    """Horizontal bars, the first on top, each with its name and number. `before`: where a tick stands in each row.
    `log`: the axis from 10⁻⁶ on. `signed`: zero in the middle. `top`: what the longest bar may be, which should not
    change while a slider moves, or all bars seem to.
    """
    import pandas as pd

    low = FLOOR if log else -top if signed else 0.0
    rows = {
        "name": distinct(names),
        "value": np.asarray(values, float).clip(low, None),
        "number": [told(value, signed) for value in values],
        "colour": list(colours),
    }
    if before is not None:
        rows["before"] = np.asarray(before, float).clip(low, None)
    scale = {"domain": [low, top], "nice": False, "type": "log" if log else "linear"}
    axis = {"title": title, "domain": False, "ticks": False, "gridOpacity": 0.6, "tickCount": 3, "format": ".2~g"}
    if log:
        axis |= {"values": [1e-6, 1e-4, 1e-2, 1], "labelExpr": POWERS, "tickCount": None}
    across = {"type": "quantitative", "scale": scale, "axis": axis}
    bar = {"type": "bar", "height": 14, "yOffset": LIFT_PX, "y2Offset": LIFT_PX, "cornerRadiusEnd": 3}
    layers: list[Spec] = [
        {"mark": bar, "encoding": {"x": across | {"field": "value"}, "x2": {"datum": FLOOR if log else 0.0},
                                   "color": {"field": "colour", "type": "nominal", "scale": None}}},
        words("name", "left", 0, 600), words("number", "right", "width", 400),
    ]  # fmt: skip
    if before is not None:
        tick = {"type": "tick", "thickness": 3, "size": 20, "yOffset": LIFT_PX, "color": INK}
        layers.append({"mark": tick, "encoding": {"x": across | {"field": "before"}}})
    return {
        "datasets": {"bars": pd.DataFrame(rows)},
        "data": {"name": "bars"},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"top": 2, "bottom": 0, "left": 2, "right": 4},
        "height": {"step": ROW_PX},
        "encoding": {"y": {"field": "name", "type": "nominal", "sort": None, "axis": None},
                     "tooltip": [{"field": "name", "title": "class"}, {"field": "number", "title": title or "share"}]},
        "layer": layers,
    }  # fmt: skip


def words(field: str, align: str, x: int | str, weight: int) -> Spec:
    """Names at the left, numbers at the right, both above their bar."""
    mark = {"type": "text", "align": align, "baseline": "middle", "dy": -LIFT_PX, "fontSize": 14, "fontWeight": weight,
            "color": TEXT, "limit": {"expr": f"width - {NUMBER_PX if align == 'left' else 0}"}}  # fmt: skip
    return {"mark": mark, "encoding": {"x": {"value": x}, "text": {"field": field, "type": "nominal"}}}


def told(value: float, signed: bool = False) -> str:
    """A number as short as it can be read from afar: 0.936, 2e-4, −0.075."""
    small = 0 < abs(value) < 9.5e-4
    number = re.sub("e-0*", "e-", f"{abs(value):.0e}") if small else f"{abs(value):.3f}"
    return ("−" if value < 0 else "+" if signed else "") + number


def reach(*values: Sequence[float]) -> float:
    """A round number, a power of two, that no bar goes beyond: an axis that stands still while bars move a little."""
    largest = max((abs(value) for each in values for value in each), default=0.0)
    return float(2.0 ** np.ceil(np.log2(largest))) if largest > 1e-12 else 1.0


def distinct(names: Sequence[str]) -> list[str]:
    """Rows of one name would be drawn over each other; ImageNet has two cranes."""
    return [name if name not in names[:i] else f"{name} ({i + 1})" for i, name in enumerate(names)]
