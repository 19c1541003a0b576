"""Several images beside one another, their patches in colours, and which are most alike to one: for the browser
(canvas/features/alike.js) and on paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from vizkit.figure.canvas.rows import text64
from vizkit.figure.overlay import under
from vizkit.figure.saved.plate import INK, PALE, RING, Drawn, Mark, Outline, Raster, Stroke, Words, fitting, wrapped
from vizkit.image import RGB, Pixels, data_url

ACROSS, GAP, SIZE = 3, 10.0, 9.0
COVER = 0.8
"""How far the colours of patches cover the image."""
CHOSEN = "#f59e0b"
STEPS = 10_000  # of a cosine as it is sent
ONE_WAY = ", one way"
Box = tuple[float, float, float, float]  # left, top, width and height of a patch


@dataclass(frozen=True, eq=False)
class OverImages:
    """Images beside one another. `rgb`: as a model sees them. `grids`: (rows, columns) of each; patches are numbered
    through all of them, row by row."""

    rgb: Sequence[Pixels]
    names: Sequence[str]
    grids: Sequence[tuple[int, int]]

    def pack(self) -> dict[str, Any]:
        return {
            "images": [data_url(each, 512) for each in self.rgb],
            "sizes": [each.shape[:2] for each in self.rgb],
            "names": [*self.names],
            "grids": [*self.grids],
        }

    def place_of(self, patch: int) -> tuple[int, int, int]:
        """(image, row, column)."""
        for image, (rows, columns) in enumerate(self.grids):
            if patch < rows * columns:
                return (image, *divmod(patch, columns))
            patch -= rows * columns
        raise IndexError(patch)

    # ---- on paper ----------------------------------------------------------------------------------------------------
    def marks(self, width: float) -> Drawn:
        """From the top left, and how high they are."""
        across = 2 if len(self.rgb) == 4 else min(ACROSS, len(self.rgb))
        side, marks, corners, top, tallest = (width + GAP) / across - GAP, list[Mark](), [], 0.0, 0.0
        start = 0
        for number, (rgb, name, (rows, columns)) in enumerate(zip(self.rgb, self.names, self.grids, strict=True)):
            if number and number % across == 0:
                top, tallest = top + tallest + SIZE + 14, 0.0
            x, high = number % across * (side + GAP), side * rgb.shape[0] / rgb.shape[1]
            marks.append(Words(fitting(name, SIZE, side), x, top + SIZE, SIZE, INK))
            here = np.arange(start, start + rows * columns).reshape(rows, columns)
            marks.append(Raster(self.covered(rgb, here), x, top + SIZE + 4, side, high))
            corners.append((x, top + SIZE + 4, side / columns, high / rows))
            start, tallest = start + rows * columns, max(tallest, high)

        def box(patch: int) -> Box:
            image, row, column = self.place_of(patch)
            x, y, wide, high = corners[image]
            return x + column * wide, y + row * high, wide, high

        marks += self.framed(box)
        top += tallest + SIZE + 8
        for line in wrapped(self.below(), SIZE, width, 3):
            top += SIZE + 3
            marks.append(Words(line, 0.0, top, SIZE, PALE))
        return marks, top + 4

    def covered(self, rgb: RGB, here: Int[np.ndarray, "row column"]) -> RGB:
        """An image with what lies on its patches, which are `here`."""
        raise NotImplementedError

    def framed(self, box: Callable[[int], Box]) -> list[Mark]:
        """Marks over the images; `box`: where a patch is drawn."""
        raise NotImplementedError

    def below(self) -> str:
        """What is written below them."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class AlikePatches(OverImages):
    """`colours`: of all patches, or none. `ids` and `cosines`: to every patch the most alike ones, the nearest first.
    `chosen`: the patch that asks, −1 for none. `paired`: lines lead to them. `right`: of each patch of the first image
    whether the last of its pairs is the right place. `back`: of every pair whether the way back leads to where it
    began; without that its line is dashed and pale."""

    ids: Int[np.ndarray, "patch alike"]
    cosines: Float[np.ndarray, "patch alike"]
    colours: UInt8[np.ndarray, "patch 3"] | None = None
    chosen: int = -1
    paired: bool = False
    right: Bool[np.ndarray, " asking"] | None = None
    back: Bool[np.ndarray, "patch alike"] | None = None

    def pack(self) -> dict[str, Any]:
        return super().pack() | {
            "tints": "" if self.colours is None else text64(self.colours),
            "ids": text64(self.ids, "<i4"),
            "cosines": text64((self.cosines * STEPS).round(), "<i2"),
            "count": self.ids.shape[1],
            "cover": COVER,
            "chosen": self.chosen,
            "paired": self.paired,
            "right": "" if self.right is None else text64(self.right, "u1"),
            "back": "" if self.back is None else text64(self.back, "u1"),
        }

    def below(self) -> str:
        return self.said(self.chosen) if self.chosen >= 0 else ""

    def said(self, patch: int) -> str:
        """Where the patches most alike to one lie."""
        image, row, column = self.place_of(patch)
        who = f"{self.names[image]}, row {row + 1}, column {column + 1}"
        if self.paired:
            there = [(self.place_of(other), *rest) for other, *rest in zip(*self._of(patch), strict=True)]
            places = [
                f"{self.names[i]}, row {r + 1}, column {c + 1} ({cosine:.2f}{'' if back else ONE_WAY})"
                for (i, r, c), cosine, back in there
            ]
            if self.right is not None and patch < len(self.right):
                places[-1] += " ✓" if self.right[patch] else " ✗"
            return f"{who} matches: {' · '.join(places)}".replace("(-", "(−")
        inside = np.bincount([self.place_of(int(other))[0] for other in self.ids[patch]], minlength=len(self.names))
        where = " · ".join(f"{count} in {name}" for name, count in zip(self.names, inside.tolist(), strict=True))
        low, high = (f"{value:.2f}".replace("-", "−") for value in (self.cosines[patch, -1], self.cosines[patch, 0]))
        return f"{who}: of the {self.ids.shape[1]} most alike patches {where}; cosine {high} to {low}"

    def _of(self, patch: int) -> tuple[list[int], list[float], list[bool]]:
        back = np.ones_like(self.ids, bool) if self.back is None else self.back
        return self.ids[patch].tolist(), self.cosines[patch].tolist(), back[patch].tolist()

    def covered(self, rgb: RGB, here: Int[np.ndarray, "row column"]) -> RGB:
        if self.chosen >= 0 and not self.paired:
            return kept(rgb, np.isin(here, [self.chosen, *self.ids[self.chosen]]))
        return rgb if self.colours is None else tinted(rgb, self.colours[here])

    def framed(self, box: Callable[[int], Box]) -> list[Mark]:
        """The patch that asks and those that are like it."""
        if self.chosen < 0:
            return []
        marks: list[Mark] = []
        others, _, back = self._of(self.chosen)
        for other, sure in zip(others, back, strict=True) if self.paired else ():
            ends = tuple((x + wide / 2, y + high / 2) for x, y, wide, high in (box(self.chosen), box(other)))
            inks = (("#000000", 3.0), (RING, 1.6)) if sure else ((RING, 0.8),)
            marks += [Stroke(ends, ink, thick, "solid" if sure else "dash") for ink, thick in inks]
        return marks + [
            mark
            for patch, ink in [*((other, RING) for other in others), (self.chosen, CHOSEN)]
            for mark in outlined(box(patch), ink)
        ]


def outlined(box: Box, ink: str, under: str = "#000000") -> list[Mark]:
    return [Outline(*box, *each) for each in ((under, 2.6), (ink, 1.3))]


def tinted(rgb: RGB, tints: Pixels, cover: float = COVER) -> RGB:
    """An image with a colour over each of its places."""
    laid = spread(tints, (rgb.shape[0], rgb.shape[1]))
    return np.rint((1 - cover) * rgb + cover * laid).astype(np.uint8)


def kept(rgb: RGB, mask: np.ndarray) -> RGB:
    """What is in a mask (row, column) as it is, the rest grey and dim."""
    inside = spread(mask, (rgb.shape[0], rgb.shape[1])).astype(bool)
    return np.where(inside[..., None], rgb, under(rgb)).astype(np.uint8)


def cut_out(rgb: RGB, mask: np.ndarray, ink: tuple[int, int, int] = (56, 224, 255)) -> RGB:
    """The same with a line between them."""
    made, inside = kept(rgb, mask), spread(mask, (rgb.shape[0], rgb.shape[1])).astype(bool)
    thick = max(1, len(rgb) // 160)
    edge = np.zeros_like(inside)
    for axis in (0, 1):
        for step in range(1, thick + 1):
            edge |= inside & ~np.roll(inside, step, axis) | inside & ~np.roll(inside, -step, axis)
    made[edge] = ink
    return made


def spread(values: np.ndarray, size_hw: tuple[int, int]) -> np.ndarray:
    """One value for each place as one for each pixel."""
    rows, columns = ((np.arange(px) * len_ // px) for px, len_ in zip(size_hw, values.shape, strict=False))
    return values[rows[:, None], columns[None]]
