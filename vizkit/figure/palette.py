"""Colour scales: perceptually uniform and safe for colour-blind eyes; one colour for each class of a page."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import UInt8

SCALE = "inferno"
REGIONS = ("#9aa0b5", "#56b4e9", "#e69f00", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#8a5a2b")
"""One for each of the nine regions of a shifted grid; the eight of Okabe & Ito (2008) with grey and brown for black."""
SCALES = ("inferno", "magma", "viridis", "cividis")
CLASSES = (  # neighbours differ in hue; all stand out from a white and from a nearly black page by 3 : 1 or more
    "#6366f1", "#d97706", "#0d9488", "#db2777", "#0284c7", "#65a30d",
    "#a855f7", "#dc2626", "#64748b", "#059669", "#a16207", "#e0569b",
)  # fmt: skip
OTHERS = "#8a8fa3"
SIGNED = "blue to red"
"""From low over zero to high; ColorBrewer's RdBu (Harrower & Brewer 2003), which colour-blind eyes tell apart."""
_BLUE_TO_RED = ((5, 48, 97), (33, 102, 172), (67, 147, 195), (146, 197, 222), (209, 229, 240), (247, 247, 247),
                (253, 219, 199), (244, 165, 130), (214, 96, 77), (178, 24, 43), (103, 0, 31))  # fmt: skip


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


def class_colours(labels: Sequence[int], count: int) -> list[str]:
    """A colour for each of `labels`, class indices of `count`. A class keeps its colour wherever it stands.

    With more classes than colours the first labels get one each, so give them likeliest first; the rest is grey.
    """
    if count <= len(CLASSES):
        return [CLASSES[label] for label in labels]
    return [*CLASSES[: len(labels)], *[OTHERS] * (len(labels) - len(CLASSES))]
