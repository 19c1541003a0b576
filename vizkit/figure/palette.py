"""The palettes of all pictures, safe for colour-blind eyes: SCALE from little to much and SIGNED around zero, both
perceptually uniform, and CLASSES for things that have no order."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import UInt8

# Opacity of the lowest and of the highest value of a map: where little attention goes, the image stays visible.
FLOOR, CEILING = 0.25, 0.9
GREY, UNDER, SHADE = (0.3, 0.59, 0.11), 0.55, 40
"""The picture under a map: the light of its red, green and blue, how much of it is left, and the grey that takes the
place of the rest: under black a dark thing would be lost."""
OPACITIES = {"over image": (FLOOR, CEILING), "map only": (1.0, 1.0), "image only": (0.0, 0.0)}
SCALE = "inferno"
"""From nothing to much."""
DARK, LIGHT = "#0b0d19", "#ffffff"
"""Words and outlines on cells of any colour."""
CLASSES = (
    "#6366f1",
    "#c3873c",
    "#0f7800",
    "#b42d87",
    "#3c96ff",
    "#e1000f",
    "#9678c3",
    "#1e9678",
    "#f04b96",
    "#694bc3",
    "#964b5a",
    "#c3695a",
)
"""Neighbours differ in hue, all stand out from a white and from a nearly black page by 3 : 1 or more, and to eyes that
lack one kind of cones any two are about as far apart as those of Okabe & Ito (2008)."""
OTHERS = "#8a8fa3"
INK = "#16182b"  # of words on paper
"""Of what has no class: a rest, chance, a rule at the chosen place."""
MARKS = {"best": "#4393c3", "fails": "#d6604d"}
"""Of cells of a table."""
REGIONS = (OTHERS, *CLASSES[:8])
"""One for each of the nine regions of a shifted grid."""
SIGNED = "blue to red"
"""From low over zero to high; ColorBrewer's RdBu (Harrower & Brewer 2003), which colour-blind eyes tell apart."""
_BLUE_TO_RED = (
    (5, 48, 97),
    (33, 102, 172),
    (67, 147, 195),
    (146, 197, 222),
    (209, 229, 240),
    (247, 247, 247),
    (253, 219, 199),
    (244, 165, 130),
    (214, 96, 77),
    (178, 24, 43),
    (103, 0, 31),
)


@cache
def colours(scale: str = SCALE) -> UInt8[np.ndarray, "256 3"]:
    """256 RGB colours from low to high; SIGNED has zero between 127 and 128."""
    import cv2

    ramp = np.arange(256, dtype=np.uint8)[:, None]
    if scale == SIGNED:
        at = np.linspace(0, 255, len(_BLUE_TO_RED))
        channels = [np.interp(ramp[:, 0], at, channel) for channel in zip(*_BLUE_TO_RED, strict=True)]
        table = np.stack(channels, 1).round().astype(np.uint8)
    else:
        table = cv2.applyColorMap(ramp, getattr(cv2, f"COLORMAP_{scale.upper()}"))[:, 0, ::-1]
    table = np.ascontiguousarray(table)
    table.setflags(write=False)
    return table


def ramp(scale: str = SCALE, low: float = 0.0, high: float = 1.0, steps: int = 17) -> list[str]:
    """The part of a scale from `low` to `high` in even steps, as CSS colours; not as #000004, which Streamlit takes for
    the place of a colour of its own."""
    at = np.linspace(255 * low, 255 * high, steps).round().astype(int)
    return ["rgb({}, {}, {})".format(*colour) for colour in colours(scale)[at].tolist()]


def rgb_of(colour: str) -> tuple[int, int, int]:
    """Of a colour `#rrggbb`."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def faint(colour: str, opacity: float) -> str:
    """A colour that lets through what lies below it."""
    return "rgba({}, {}, {}, {})".format(*rgb_of(colour), opacity)


def class_colours(labels: Sequence[int], count: int) -> list[str]:
    """A colour for each of `labels`, class indices of `count`. A class keeps its colour wherever it stands.

    With more classes than colours the first labels get one each, so give them likeliest first; the rest is grey.
    """
    if count <= len(CLASSES):
        return [CLASSES[label] for label in labels]
    return [*CLASSES[: len(labels)], *[OTHERS] * (len(labels) - len(CLASSES))]
