"""One number for each pair of classes, as a Vega-Lite chart that changes in place."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vizkit.figure.class_bars import distinct

Spec = dict[str, Any]
CELL_PX = 24


def class_matrix(names: Sequence[str], values: np.ndarray, top: float, row: str, column: str, value: str) -> Spec:
    """(row, column), row 0 on top; NaN is left empty. Colours go from 0 to `top`. `row`, `column` and `value` say what
    these are."""
    import pandas as pd

    rows = distinct(names)
    table = pd.DataFrame({
        "row": np.repeat(rows, len(rows)), "column": np.tile(rows, len(rows)), "value": values.ravel(),
    }).dropna()  # fmt: skip
    label = {"title": None, "ticks": False, "domain": False, "labelLimit": 140, "labelFontSize": 13}
    side = {"type": "nominal", "sort": None, "scale": {"domain": rows}}
    return {
        "datasets": {"cells": table},
        "data": {"name": "cells"},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"top": 2, "bottom": 0, "left": 2, "right": 4},
        "height": {"step": CELL_PX},
        "mark": {"type": "rect", "cornerRadius": 2},
        "encoding": {
            "x": side | {"field": "column", "axis": label | {"labelAngle": -90, "labelOverlap": False}},
            "y": side | {"field": "row", "axis": label | {"labelOverlap": False}},
            "color": {"field": "value", "type": "quantitative", "scale": {"scheme": "viridis", "domain": [0, top]},
                      "legend": {"title": value, "orient": "bottom", "gradientThickness": 10, "format": ".2~g"}},
            "tooltip": [{"field": "row", "title": row}, {"field": "column", "title": column},
                        {"field": "value", "title": value, "type": "quantitative", "format": ".3~g"}],
        },
    }  # fmt: skip
