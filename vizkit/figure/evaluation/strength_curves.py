"""Probability against the strength of a change, one line for each model, as a small Vega-Lite chart with a rule."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from vizkit.figure.palette import CLASSES

INK = "#8a8fa3"
DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3))
SHAPES = ("circle", "square", "triangle-up", "diamond")
LINES, GLYPHS = ("━", "╍", "┅", "╌"), "●■▲◆"
HEIGHT = 150
Spec = dict[str, Any]


def strength_curves(
    names: Sequence[str],
    strengths: Sequence[float],
    shares: Sequence[np.ndarray | None],
    at: int,
    unit: str,
    *,
    percent: bool = False,
) -> Spec:
    """`shares`: of each name its values, 0 to 1, at all `strengths`, None where they are not known yet. `at`: index of
    the strength that is marked. Told apart by colour, dash and shape; see `legend`."""
    import pandas as pd

    rows = [
        {"strength": x, "share": float(y), "name": name, "now": index == at}
        for name, values in zip(names, shares, strict=True)
        if values is not None
        for index, (x, y) in enumerate(zip(strengths, values, strict=True))
    ]
    x = {"field": "strength", "type": "quantitative", "title": unit,
         "scale": {"domain": [0, strengths[-1]], "nice": False},
         "axis": {"tickCount": 4, "grid": False} | ({"format": ".0%"} if percent else {})}  # fmt: skip
    y = {"field": "share", "type": "quantitative", "title": None, "scale": {"domain": [0, 1]},
         "axis": {"format": ".0%", "values": [0, 0.5, 1], "gridOpacity": 0.6}}  # fmt: skip
    count = len(names)

    def by_name(values: Sequence[Any]) -> Spec:
        return {"field": "name", "type": "nominal", "legend": None,
                "scale": {"domain": list(names), "range": list(values[:count])}}  # fmt: skip

    colour = by_name(CLASSES)
    tips = [{"field": "name", "title": " "}, {"field": "strength", "title": unit, "format": ".3~g"},
            {"field": "share", "title": "probability", "format": ".1%"}]  # fmt: skip
    opacity = {"condition": {"test": "datum.now", "value": 1}, "value": 0}
    return {
        "datasets": {
            "curves": pd.DataFrame(rows, columns=["strength", "share", "name", "now"]),
            "rule": pd.DataFrame({"strength": [float(strengths[at])]}),
        },
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"top": 4, "bottom": 0, "left": 2, "right": 8},
        "height": HEIGHT,
        "layer": [
            {"data": {"name": "rule"}, "mark": {"type": "rule", "strokeWidth": 1.5, "color": INK},
             "encoding": {"x": x}},
            {"data": {"name": "curves"}, "mark": {"type": "line", "strokeWidth": 2.2},
             "encoding": {"x": x, "y": y, "color": colour, "strokeDash": by_name([list(each) for each in DASHES])}},
            {"data": {"name": "curves"}, "mark": {"type": "point", "filled": True, "size": 75},
             "encoding": {"x": x, "y": y, "color": colour, "shape": by_name(SHAPES), "opacity": opacity,
                          "tooltip": tips}},
        ],
    }  # fmt: skip


def legend(names: Sequence[str]) -> str:
    """The lines of all charts once, as HTML that wraps; names are shown as they are, whatever they contain."""
    parts = [
        f'<span style="white-space:nowrap;margin-right:1.4em"><span style="color:{colour}">{line}{glyph}{line}</span> '
        f"{escape(name)}</span>"
        for name, colour, line, glyph in zip(names, CLASSES, LINES, GLYPHS, strict=False)
    ]
    return " ".join(parts)
