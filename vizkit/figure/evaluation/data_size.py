"""Accuracy against the number of training pictures as a Vega-Lite chart: a line for each family, named at its end.

Vega-Lite, because Streamlit then changes the chart in place while runs come in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vizkit.figure.evaluation.accuracy_cost import TEXT, colour_of, ordered

HEIGHT = 400
NAME_APART_PX = 15  # between the names at the ends of two lines
INK = "#8a8fa3"
SHAPES = {"CNN": "circle", "ViT": "square", "DeiT": "triangle-up", "Swin": "diamond"}
Spec = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """One family. Shares from 0 to 1: the mean over seeds with its standard error, at so many training `images`;
    `seeds`: what each of several seeds reached, at each number of images."""

    family: str
    images: Sequence[int]
    mean: Sequence[float]
    error: Sequence[float]
    seeds: Sequence[Sequence[float]] = ()


def data_size(lines: Sequence[Line], chance: float | None, sizes: Sequence[int]) -> Spec:
    """Logarithmic in the pictures; whiskers of one standard error, hollow points for several seeds. `chance`: what a
    guess reaches, a dashed rule. `sizes`: the ticks."""
    import pandas as pd

    rows = [
        {"family": line.family, "images": images, "mean": mean, "low": mean - error, "high": mean + error,
         "error": error}
        for line in lines for images, mean, error in zip(line.images, line.mean, line.error, strict=True)
    ]  # fmt: skip
    dots = [{"family": line.family, "images": images, "accuracy": accuracy}
            for line in lines for images, several in zip(line.images, line.seeds, strict=False)
            if len(several) > 1 for accuracy in several]  # fmt: skip
    families = ordered([line.family for line in lines])
    top = max([1.0 if not rows else 0.0, *(row["high"] for row in rows), *(dot["accuracy"] for dot in dots)])
    domain = (0.0, min(1.0, top * 1.05) if top < 0.95 else 1.0)
    across = {"field": "images", "type": "quantitative", "title": "training images",
              "scale": {"type": "log", "domain": [sizes[0] * 0.82, sizes[-1] * 2.0], "nice": False},
              "axis": {"values": list(sizes), "format": ",d", "grid": False, "labelOverlap": False}}  # fmt: skip
    up = {"field": "mean", "type": "quantitative", "title": "test accuracy",
          "scale": {"domain": list(domain), "nice": False}, "axis": {"format": ".0%", "gridOpacity": 0.5}}  # fmt: skip
    colour = {"field": "family", "type": "nominal", "legend": None,
              "scale": {"domain": families, "range": [colour_of(each, families) for each in families]}}  # fmt: skip
    shape = {"field": "family", "type": "nominal", "legend": None,
             "scale": {"domain": families, "range": [SHAPES.get(each, "cross") for each in families]}}  # fmt: skip
    tips = [{"field": "family", "title": " "}, {"field": "images", "type": "quantitative", "format": ",d"},
            {"field": "mean", "title": "test accuracy", "type": "quantitative", "format": ".1%"},
            {"field": "error", "title": "standard error", "type": "quantitative", "format": ".1%"}]  # fmt: skip
    layers: list[Spec] = [
        {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {"x": across, "y": up, "color": colour}},
        {"mark": {"type": "rule", "strokeWidth": 2},
         "encoding": {"x": across, "y": up | {"field": "low"}, "y2": {"field": "high"}, "color": colour}},
        {"data": {"name": "dots"}, "mark": {"type": "point", "filled": False, "size": 46, "strokeWidth": 1.5},
         "encoding": {"x": across, "y": up | {"field": "accuracy"}, "color": colour, "shape": shape}},
        {"mark": {"type": "point", "filled": True, "size": 75, "opacity": 1},
         "encoding": {"x": across, "y": up, "color": colour, "shape": shape, "tooltip": tips}},
        {"data": {"name": "names"},
         "mark": {"type": "text", "align": "left", "baseline": "middle", "dx": 10, "fontSize": 13, "fontWeight": 600},
         "encoding": {"x": across, "y": up | {"field": "at"}, "text": {"field": "family"}, "color": colour}},
    ]  # fmt: skip
    if chance is not None:
        y = up | {"field": "chance"}
        rule: Spec = {"data": {"name": "chance"}, "mark": {"type": "rule", "strokeDash": [5, 4], "color": INK},
                      "encoding": {"y": y}}  # fmt: skip
        text: Spec = {"data": {"name": "chance"},
                      "mark": {"type": "text", "align": "right", "baseline": "bottom", "dy": -3, "color": TEXT,
                               "text": f"chance {chance:.1%}", "fontSize": 12},
                      "encoding": {"x": {"value": "width"}, "y": y}}  # fmt: skip
        layers = [rule, text, *layers]
    return {
        "datasets": {
            "lines": pd.DataFrame(rows, columns=["family", "images", "mean", "low", "high", "error"]),
            "dots": pd.DataFrame(dots, columns=["family", "images", "accuracy"]),
            "chance": pd.DataFrame({"chance": [] if chance is None else [chance]}),
            "names": pd.DataFrame(ends(lines, domain), columns=["family", "images", "at"]),
        },
        "data": {"name": "lines"},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"top": 6, "bottom": 0, "left": 2, "right": 4},
        "height": HEIGHT,
        "layer": layers,
    }


def comparable(chart: Spec) -> Spec:
    """Learning curves of shares as they can stand side by side: from 0 to 100 %, the names in one row below."""
    layers = [{**layer, "encoding": scaled(layer["encoding"])} for layer in chart["layer"]]
    fit = {"autosize": {"type": "fit-x", "contains": "padding"}, "height": 240}
    return {**chart, **fit, "layer": layers, "padding": {"top": 4, "bottom": 0, "left": 2, "right": 4}}


def scaled(encoding: Spec) -> Spec:
    up = encoding["y"]
    changed = {"y": {**up, "scale": {"domain": [0, 1], "nice": False}, "axis": {**up["axis"], "tickCount": 5}}}
    for channel in ("color", "shape"):
        if channel in encoding:
            changed[channel] = {**encoding[channel], "legend": {**encoding[channel]["legend"], "columns": 4}}
    return encoding | changed


def ends(lines: Sequence[Line], domain: tuple[float, float]) -> list[dict[str, Any]]:
    """Where each name stands: at the last point of its line, moved up or down where two would lie on one another."""
    told = [line for line in lines if len(line.images)]
    apart = NAME_APART_PX * (domain[1] - domain[0]) / HEIGHT
    found = []
    for last in sorted({line.images[-1] for line in told}):
        there = [line for line in told if line.images[-1] == last]
        levels = spread([line.mean[-1] for line in there], apart)
        found += [{"family": line.family, "images": last, "at": level}
                  for line, level in zip(there, levels, strict=True)]  # fmt: skip
    return found


def spread(values: Sequence[float], apart: float) -> list[float]:
    """The values moved so far that any two are `apart`: neighbours too close share a middle, in their order."""
    order = np.argsort(values, kind="stable")
    groups = [[float(values[i])] for i in order]
    centres = [group[0] for group in groups]
    merged = True
    while merged:
        merged = False
        for i in range(len(groups) - 1):
            room = apart * (len(groups[i]) + len(groups[i + 1])) / 2
            if centres[i + 1] - centres[i] < room - 1e-12:
                groups[i : i + 2] = [groups[i] + groups[i + 1]]
                centres[i : i + 2] = [float(np.mean(groups[i]))]
                merged = True
                break
    levels = [centre + apart * (k - (len(group) - 1) / 2)
              for centre, group in zip(centres, groups, strict=True) for k in range(len(group))]  # fmt: skip
    moved = [0.0] * len(levels)
    for place, i in enumerate(order):
        moved[int(i)] = levels[place]
    return moved
