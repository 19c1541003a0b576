"""A loss over temperature and the teacher's share, with lines of equal loss and the present point, as a Vega-Lite
chart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vizkit.figure.distillation.lines_at import decades

Spec = dict[str, Any]


def loss_surface(
    temperatures: np.ndarray,
    shares: np.ndarray,
    values: np.ndarray,
    levels: Sequence[tuple[float, np.ndarray]],
    at: tuple[float, float],
    *,
    height: int = 300,
) -> Spec:
    """`values` by (share, temperature); temperatures evenly on a logarithmic axis, shares evenly from 0 to 1. `levels`:
    (loss, its share at every temperature, NaN for none). `at`: the present (temperature, share)."""
    import pandas as pd

    x, y = edges(np.log(temperatures)), edges(shares)
    # Cells reach below the next ones, which are drawn later: no seams.
    x2, y2 = x[1:] + np.diff(x) / 2, y[1:] + np.diff(y) / 2
    cells = pd.DataFrame({
        "x": np.tile(np.exp(x[:-1]), len(shares)), "x2": np.tile(np.exp(x2), len(shares)),
        "y": np.repeat(y[:-1], len(temperatures)), "y2": np.repeat(y2, len(temperatures)),
        "loss": values.ravel(), "T": np.tile(temperatures, len(shares)), "share": np.repeat(shares, len(temperatures)),
    })  # fmt: skip
    rows = [
        (t, share, f"{level:.4g}, part {part}")
        for level, line in levels
        for t, share, part in zip(temperatures, line, np.isnan(line).cumsum(), strict=True)
        if not np.isnan(share)  # a gap begins another part, or the line would run straight across it
    ]
    lines = pd.DataFrame(rows, columns=["T", "share", "line"])
    point = pd.DataFrame({"T": [at[0]], "share": [at[1]]})
    along_t = {"type": "quantitative", "title": "temperature T",
               "scale": {"type": "log", "domain": [float(temperatures[0]), float(temperatures[-1])], "nice": False},
               "axis": {"values": decades(temperatures), "format": "~g", "grid": False}}  # fmt: skip
    along_share = {"type": "quantitative", "title": "teacher's share λ", "scale": {"domain": [0, 1]},
                   "axis": {"grid": False, "tickCount": 5}}  # fmt: skip
    colour = {"field": "loss", "type": "quantitative", "scale": {"scheme": "viridis"},
              "legend": {"title": "loss", "gradientThickness": 12, "format": ".2~g"}}  # fmt: skip
    tips = [{"field": name, "type": "quantitative", "format": ".3~g", "title": title}
            for name, title in (("loss", "loss in nats"), ("T", "T"), ("share", "λ"))]  # fmt: skip
    return {
        "datasets": {"cells": cells, "levels": lines, "point": point},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"top": 2, "bottom": 0, "left": 2, "right": 4},
        "height": height,
        "layer": [
            {"data": {"name": "cells"}, "mark": {"type": "rect", "clip": True},
             "encoding": {"x": along_t | {"field": "x"}, "x2": {"field": "x2"}, "y": along_share | {"field": "y"},
                          "y2": {"field": "y2"}, "color": colour, "tooltip": tips}},
            {"data": {"name": "levels"},
             "mark": {"type": "line", "color": "#ffffff", "opacity": 0.75, "strokeWidth": 1.2},
             "encoding": {"x": along_t | {"field": "T"}, "y": along_share | {"field": "share"},
                          "detail": {"field": "line", "type": "nominal"}}},
            {"data": {"name": "point"},
             "mark": {"type": "point", "filled": True, "size": 170, "color": "#ffffff", "stroke": "#16182b",
                      "strokeWidth": 2.5, "opacity": 1},
             "encoding": {"x": along_t | {"field": "T"}, "y": along_share | {"field": "share"}}},
        ],
    }  # fmt: skip


def edges(centres: np.ndarray) -> np.ndarray:
    """Where evenly spaced cells meet; the first and last cell are cut in half at the ends of the axis."""
    middles = (centres[:-1] + centres[1:]) / 2
    return np.concatenate([centres[:1], middles, centres[-1:]])
