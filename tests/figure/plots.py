"""Figures as the browser gets them."""

import base64
from xml.etree import ElementTree

import numpy as np


def numbers(values):
    """An array of such a figure; plotly packs those of numpy."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return values


def bars(markup):
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
