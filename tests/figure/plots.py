"""Figures as the browser gets them."""

import base64
import json
from typing import Any
from xml.etree import ElementTree

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


def class_bars_of(test: AppTest) -> list[dict[str, list]]:
    """All class bars of the page, from left to right and down."""
    return [bars(each.proto.body) for each in test.main.get("html") if "class-bars" in each.proto.body]


def bars(markup: str) -> dict[str, list]:
    """What `class_bars` drew: value, name, number and colour of every row, left and width of its bar in percent."""
    drawn = ElementTree.fromstring(markup)
    rows = drawn.findall(".//div[@class='row']")
    looks = [
        dict(item.split(":") for item in bar.get("style", "").split(";")) for bar in drawn.findall(".//i[@class='bar']")
    ]
    return {
        "value": [float(row.get("title", "").rpartition(": ")[2]) for row in rows],
        "name": [row[0].text for row in rows],
        "number": [row[1].text for row in rows],
        "colour": [look["background"] for look in looks],
        "left": [float(look["left"][:-1]) for look in looks],
        "width": [float(look["width"][:-1]) for look in looks],
        "before": [float(tick.get("title", "")) for tick in drawn.findall(".//i[@class='tick']")],
        "axis": [mark.text for mark in drawn.findall(".//div[@class='axis']/span")],
    }
