"""Which label was answered by which class, how often, as a Vega-Lite chart whose cells can be clicked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from vizkit.figure.class_bars import distinct

Spec = dict[str, Any]
CELL_PX = 28
MOST_NUMBERED = 16  # with more labels the cells are too narrow for numbers
EDGE = "#8a8fa3"  # a dark cell should be seen on a dark page
CELL = "cell"  # the name of the selection: {"label": …, "answer": …}


def confusion(labels: Sequence[str], answers: Sequence[str], counts: Int[np.ndarray, "label answer"]) -> Spec:
    """Rows are labels, row 0 on top; columns are answers. Colour is the share of the row; empty cells stay empty."""
    import pandas as pd

    rows, columns = distinct(labels), distinct(answers)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    cells = pd.DataFrame({
        "label": np.repeat(rows, len(columns)), "answer": np.tile(columns, len(rows)), "count": counts.ravel(),
        "share": shares.ravel(), "right": [row == column for row in rows for column in columns],
    })  # fmt: skip
    cells = cells[cells["count"] > 0]
    axis = {"ticks": False, "domain": False, "labelLimit": 130, "labelFontSize": 12, "labelOverlap": False}
    y = {"field": "label", "type": "nominal", "sort": None, "scale": {"domain": rows}, "axis": axis | {"title": None}}
    x = {"field": "answer", "type": "nominal", "sort": None, "scale": {"domain": columns},
         "axis": axis | {"labelAngle": -90, "title": None}}  # fmt: skip
    picked = {"condition": {"param": CELL, "value": 1.0, "empty": True}, "value": 0.45}
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "cornerRadius": 2, "cursor": "pointer", "stroke": EDGE, "strokeWidth": 0.6},
            "params": [{"name": CELL, "select": {"type": "point", "fields": ["label", "answer"], "toggle": False}}],
            "encoding": {
                "color": {"field": "share", "type": "quantitative",
                          "scale": {"scheme": "viridis", "domain": [0, 1]},
                          "legend": {"title": "share of the label", "orient": "bottom", "gradientThickness": 10,
                                     "format": ".0%"}},
                "opacity": picked,
                "tooltip": [{"field": "label", "title": "label"}, {"field": "answer", "title": "answer"},
                            {"field": "count", "title": "pictures", "type": "quantitative", "format": ","},
                            {"field": "share", "title": "of this label", "type": "quantitative", "format": ".1%"}],
            },
        }
    ]  # fmt: skip
    if len(rows) <= MOST_NUMBERED:
        ink = {"condition": {"test": "datum.share > 0.6", "value": "#16182b"}, "value": "#ffffff"}
        layers.append({
            "mark": {"type": "text", "fontSize": 12, "fontWeight": 600, "interactive": False},
            "encoding": {"text": {"field": "count", "type": "quantitative", "format": ","}, "color": ink},
        })  # fmt: skip
    return {
        "datasets": {"cells": cells},
        "data": {"name": "cells"},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"top": 2, "bottom": 0, "left": 2, "right": 4},
        "height": {"step": CELL_PX},
        "encoding": {"x": x, "y": y},
        "layer": layers,
    }
