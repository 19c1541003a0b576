"""Several images whose patches are painted as things, a few by a reader and all others by a probe: for the browser
(canvas/features/alike.js) and on paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from vizkit.figure.canvas.rows import text64
from vizkit.figure.features.alike_patches import Box, OverImages, outlined, tinted
from vizkit.figure.palette import CLASSES, rgb_of
from vizkit.figure.saved.plate import Mark
from vizkit.image import RGB
from vizkit.percent import in_percent

THINGS, COVER = 4, 0.55
INKS = CLASSES[5:1:-1]
TINTS = np.array([[0, 0, 0], *map(rgb_of, INKS)], np.uint8)
"""The same by the numbers of things; of 0, which is none, black."""


@dataclass(frozen=True, eq=False)
class LabelledPatches(OverImages):
    """`things`: that of every patch, from 1; 0 while nothing is painted. `painted`: things by the patches that a reader
    painted, at `most` so many, in words `clicks`. `vectors`, `ridge`: by which the browser answers, see probe.js."""

    things: Int[np.ndarray, " patch"]
    painted: Mapping[int, int]
    clicks: str
    vectors: Int[np.ndarray, "patch direction"]
    ridge: float
    most: int

    def pack(self) -> dict[str, Any]:
        vectors = {"vectors": text64(self.vectors, "<i2"), "channels": self.vectors.shape[1]}
        asked = {"clicks": self.clicks, "ridge": self.ridge, "most": self.most}
        return super().pack() | vectors | asked | {"inks": INKS, "cover": COVER}

    def covered(self, rgb: RGB, here: Int[np.ndarray, "row column"]) -> RGB:
        return tinted(rgb, TINTS[self.things[here]], COVER) if self.painted else rgb

    def framed(self, box: Callable[[int], Box]) -> list[Mark]:
        marks = (outlined(box(patch), INKS[thing - 1], "#ffffff") for patch, thing in self.painted.items())
        return [mark for pair in marks for mark in pair]

    def below(self) -> str:
        shares = ((thing, float((self.things == thing).mean())) for thing in sorted({*self.painted.values()}))
        return " · ".join(f"thing {thing}: {in_percent(share)}" for thing, share in shares)
