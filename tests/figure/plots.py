"""Figures as the browser gets them."""

import base64
import json
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest


def figures(test: AppTest) -> list[dict[str, Any]]:
    """All charts of the page, without its sidebar, as plotly's JSON."""
    return [json.loads(chart.proto.spec) for chart in test.main.get("plotly_chart")]


def numbers(values: list | dict) -> list:
    """An array of such a figure; plotly packs those of numpy."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return values


def bars(figure: dict[str, Any]) -> dict[str, list]:
    """What `class_bars` drew: value, name, number and colour of every row."""
    bar, names, _, *before = figure["data"]
    return {
        "value": numbers(bar["x"]), "name": names["text"], "colour": bar["marker"]["color"],
        "number": [number for _, number in bar["customdata"]],
        "before": numbers(before[0]["x"]) if before else [],
    }  # fmt: skip
