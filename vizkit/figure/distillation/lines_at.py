"""Lines along an axis with a rule at the point that a slider has chosen, as a Vega-Lite chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

INK = "#8a8fa3"
SHORT = "format(datum.value, datum.value >= 0.001 || datum.value == 0 ? '~g' : '~e')"  # numbers on an axis
Spec = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """One line. `dash`: lengths of stroke and gap in pixels, none for a solid one."""

    name: str
    y: Sequence[float] | np.ndarray
    colour: str
    dash: tuple[int, int] | None = None


def lines_at(
    x: np.ndarray,
    lines: Sequence[Line],
    at: float,
    x_title: str,
    y_title: str,
    *,
    log_y: bool = False,
    y_domain: tuple[float, float] | None = None,
    columns: int = 2,
    height: int = 300,
) -> Spec:
    """Lines over a logarithmic x axis; a rule and a dot on every line at `at`, between points on the line between
    them. `columns`: of the legend; 0 draws none. NaN leaves a gap."""
    import pandas as pd

    ys = np.asarray([line.y for line in lines], float)
    if log_y:
        ys = np.where(ys > 0, ys, np.nan)
    if log_y and y_domain:
        ys = np.where(ys >= y_domain[0], ys, np.nan)
    now = [float(np.interp(np.log(at), np.log(x), y)) for y in ys]
    names = [line.name for line in lines]
    points = pd.DataFrame({
        "x": np.tile(x, len(lines)), "y": ys.ravel(), "name": np.repeat(names, len(x)),
    })  # fmt: skip
    chosen = pd.DataFrame({"x": [at] * len(lines), "y": now, "name": names})
    legend = None if not columns else {"orient": "bottom", "columns": columns, "title": None, "labelLimit": 150,
                                       "symbolType": "stroke", "symbolStrokeWidth": 3}  # fmt: skip
    colour = {"field": "name", "type": "nominal", "legend": legend,
              "scale": {"domain": names, "range": [line.colour for line in lines]}}  # fmt: skip
    dash = {"field": "name", "type": "nominal", "legend": legend,
            "scale": {"domain": names, "range": [list(line.dash or (1, 0)) for line in lines]}}  # fmt: skip
    across = {"field": "x", "type": "quantitative", "title": x_title,
              "scale": {"type": "log", "domain": [float(x[0]), float(x[-1])], "nice": False},
              "axis": {"values": decades(x), "format": "~g", "grid": False}}  # fmt: skip
    y_scale: Spec = {"type": "log" if log_y else "linear", "zero": not log_y, "nice": y_domain is None}
    if y_domain:
        y_scale["domain"] = list(y_domain)
    up = {"field": "y", "type": "quantitative", "title": y_title, "scale": y_scale,
          "axis": {"tickCount": 5, "gridOpacity": 0.6, "labelExpr": SHORT}}  # fmt: skip
    tips = [{"field": "name", "title": " "}, {"field": "x", "title": x_title, "format": ".3~g", "type": "quantitative"},
            {"field": "y", "title": y_title, "format": ".3~g", "type": "quantitative"}]  # fmt: skip
    return {
        "datasets": {"lines": points, "at": chosen, "rule": pd.DataFrame({"x": [at]})},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"top": 2, "bottom": 0, "left": 2, "right": 4},  # a legend does not take from the height
        "height": height,
        "layer": [
            {"data": {"name": "lines"}, "mark": {"type": "line", "strokeWidth": 2.5, "clip": True},
             "encoding": {"x": across, "y": up, "color": colour, "strokeDash": dash, "tooltip": tips}},
            {"data": {"name": "rule"}, "mark": {"type": "rule", "strokeWidth": 1.5, "color": INK},
             "encoding": {"x": across}},
            {"data": {"name": "at"}, "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "clip": True},
             "encoding": {"x": across, "y": up, "color": colour, "tooltip": tips}},
        ],
    }  # fmt: skip


def decades(x: np.ndarray) -> list[float]:
    """1, 2 and 5 of every power of ten on the axis: few enough to read."""
    powers = range(int(np.floor(np.log10(x[0]))), int(np.ceil(np.log10(x[-1]))) + 1)
    ticks = [round(m * 10.0**power, 10) for power in powers for m in (1, 2, 5)]
    inside = [tick for tick in ticks if x[0] * 0.999 <= tick <= x[-1] * 1.001]
    return inside if len(inside) <= 6 else [tick for tick in inside if f"{tick:e}"[0] == "1"]
