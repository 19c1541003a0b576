"""Learning curves of several teachings, as a Vega-Lite chart: the mean of their runs in a band from lowest to highest.

Vega-Lite, because Streamlit then changes the chart in place while a run goes on.
"""

from collections.abc import Sequence
from typing import Any

from vizkit.figure.palette import CLASSES

HEIGHT, LEGEND_ROW = 340, 26  # pixels; with three lines
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def learning_curves(
    names: Sequence[str],
    epochs: Sequence[Sequence[int]],
    mean: Sequence[Sequence[float]],
    low: Sequence[Sequence[float]],
    high: Sequence[Sequence[float]],
    *,
    percent: bool = False,
) -> dict[str, Any]:
    """One line with points for each name, told apart by colour and shape; the numbers of each by epoch."""
    import pandas as pd

    rows = [
        {"epoch": epoch, "value": m, "low": lo, "high": hi, "of": name}
        for name, at, means, lows, highs in zip(names, epochs, mean, low, high, strict=True)
        for epoch, m, lo, hi in zip(at, means, lows, highs, strict=True)
    ]
    legend = {"orient": "bottom", "title": None, "columns": 1, "labelLimit": 320, "symbolOpacity": 1}
    count = len(names)
    colours = [CLASSES[i % len(CLASSES)] for i in range(count)]
    shapes = [SHAPES[i % len(SHAPES)] for i in range(count)]
    style = "%" if percent else ".3~g"
    x = {"field": "epoch", "type": "quantitative", "axis": {"tickMinStep": 1, "format": "d", "grid": False}}
    scale = {"zero": False, **({"domainMax": 1.0} if percent else {})}
    y = {"field": "value", "type": "quantitative", "title": None, "scale": scale, "axis": {"format": style}}
    colour = {
        "field": "of",
        "type": "nominal",
        "legend": legend,
        "scale": {"domain": list(names), "range": colours},
    }
    shape = {"field": "of", "type": "nominal", "legend": legend, "scale": {"domain": list(names), "range": shapes}}
    told = ".1%" if percent else ".4~g"
    tips = [
        {"field": "of", "title": " "},
        {"field": "epoch", "type": "quantitative"},
        *({"field": each, "title": title, "type": "quantitative", "format": told}
          for each, title in (("value", "mean"), ("low", "lowest"), ("high", "highest"))),
    ]  # fmt: skip
    return {
        "datasets": {"curves": pd.DataFrame(rows, columns=["epoch", "value", "low", "high", "of"])},
        "data": {"name": "curves"},
        "height": HEIGHT + LEGEND_ROW * max(0, count - 3),  # the legend takes its rows from the plot
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                    "color": colour,
                },
            },
            {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {"x": x, "y": y, "color": colour}},
            {
                "mark": {"type": "point", "filled": True, "size": 42, "opacity": 1},
                "encoding": {"x": x, "y": y, "color": colour, "shape": shape, "tooltip": tips},
            },
        ],
    }
