"""Things over their picture, pixel by pixel, each in its colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from jaxtyping import UInt8

from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import rgb_of
from vizkit.image import RGB

OPACITY, CHOSEN_OPACITY = 0.3, 0.6


@dataclass(frozen=True, eq=False)
class Regions:
    """`instances`: of every pixel 0, nothing, or 1, 2, …, on a grid of its own. `colours`: of each thing, #rrggbb.
    `ids`: of each, that of its frame."""

    instances: UInt8[np.ndarray, "row column"]
    colours: Sequence[str]
    ids: Sequence[int]

    def pack(self) -> dict[str, Any]:
        return {
            "values": text64(self.instances),
            "grid": self.instances.shape,
            "colours": [*self.colours],
            "ids": [*self.ids],
            "opacities": (OPACITY, CHOSEN_OPACITY),
        }

    def over(self, picture: RGB, chosen: int) -> RGB:
        """`chosen`: the id of what is filled more."""
        height, width = picture.shape[:2]
        which = np.asarray(cv2.resize(self.instances, (width, height), interpolation=cv2.INTER_NEAREST), np.uint8)
        tints = np.array([(0, 0, 0), *map(rgb_of, self.colours)])
        opacity = np.array([0.0, *(CHOSEN_OPACITY if each == chosen else OPACITY for each in self.ids)])[which]
        opacity[(which > 0) & (cv2.morphologyEx(which, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0)] = 1.0
        painted = (1 - opacity[..., None]) * picture + opacity[..., None] * tints[which]
        return painted.round().astype(np.uint8)
