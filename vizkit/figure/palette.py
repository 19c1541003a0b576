"""Colour scales: perceptually uniform and safe for colour-blind eyes."""

from functools import cache

import numpy as np
from jaxtyping import UInt8

SCALE = "inferno"
SCALES = ("inferno", "magma", "viridis", "cividis")


@cache
def colours(scale: str = SCALE) -> UInt8[np.ndarray, "256 3"]:
    """256 RGB colours from low to high."""
    import cv2

    ramp = np.arange(256, dtype=np.uint8)[:, None]
    table = cv2.applyColorMap(ramp, getattr(cv2, f"COLORMAP_{scale.upper()}"))[:, 0, ::-1]
    table = np.ascontiguousarray(table)
    table.setflags(write=False)
    return table
