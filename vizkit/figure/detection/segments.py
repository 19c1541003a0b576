"""A panoptic map over its picture: one colour for each thing."""

from collections.abc import Sequence

import cv2
import numpy as np
from jaxtyping import Int, UInt8

from vizkit.figure.palette import CLASSES

OPACITY = 0.55
DIMMED = 0.45  # of the ground's light, so that things stand out


def segments_over(
    picture: UInt8[np.ndarray, "height width 3"],
    instances: UInt8[np.ndarray, "_rows _columns"],
    places: Sequence[int] | Int[np.ndarray, " thing"],
) -> UInt8[np.ndarray, "height width 3"]:
    """`instances`: of every pixel 0 or 1, 2, …, on a grid of its own. `places`: of each thing its place among the
    colours: those of one place look the same in two maps."""
    height, width = picture.shape[:2]
    which = np.asarray(cv2.resize(instances, (width, height), interpolation=cv2.INTER_NEAREST), np.uint8)
    tints = [(0, 0, 0), *(tuple(bytes.fromhex(CLASSES[place % len(CLASSES)][1:])) for place in places)]
    opacity = np.array([1 - DIMMED, *[OPACITY] * len(places)])[which][..., None]
    painted = (1 - opacity) * picture + opacity * np.array(tints)[which]
    edges = cv2.morphologyEx(which, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0
    painted[edges] = 255
    return painted.round().astype(np.uint8)
