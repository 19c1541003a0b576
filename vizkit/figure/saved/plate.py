"""A picture to be saved, as marks on paper: `png` and `svg` draw the same ones. Lengths in points of the SVG."""

from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import ImageFont

from vizkit.figure.palette import CEILING, FLOOR, INK
from vizkit.figure.scales import Places, Scale
from vizkit.geometry import Box
from vizkit.image import RGB


@cache
def font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """DejaVu Sans, which comes with matplotlib (captum needs it); Pillow's own font has no × and no é."""
    spec = find_spec("matplotlib")  # not imported, which would take half a second
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(folder) / "mpl-data/fonts/ttf/DejaVuSans.ttf"
        if file.is_file():
            return ImageFont.truetype(file, size)
    return ImageFont.load_default(size)


def clean(text: str) -> str:
    """On one line, without characters that cannot be seen: a file's text may hold no others."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def fitting(text: str, size: float, width: float) -> str:
    """The text, elided in its middle where it is longer than `width`: names differ at their ends."""
    text = clean(text)
    if font(size).getlength(text) <= width:
        return text
    kept = len(text)
    while kept > 2 and font(size).getlength(elided(text, kept)) > width:
        kept -= 1 + kept // 32
    return elided(text, kept)


def elided(text: str, kept: int) -> str:
    return f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"


def wrapped(text: str, size: float, width: float, most: int) -> list[str]:
    """At most `most` lines, broken between words, or within one that is longer than a line; the last one elided."""
    lines, rest = [], clean(text)
    while rest and len(lines) < most - 1 and font(size).getlength(rest) > width:
        end = next(n for n in range(len(rest), 0, -1) if n == 1 or font(size).getlength(rest[:n]) <= width)
        space = rest.rfind(" ", 0, end + 1)
        word = rest[space + 1 :].partition(" ")[0]
        end = space if space > 0 and font(size).getlength(word) <= width else end
        lines.append(rest[:end].strip())
        rest = rest[end:].strip()
    return [*lines, fitting(rest, size, width)] if rest else lines


PRINT_DPI = 300
PALE, RING = "#565a75", "#38e0ff"


@dataclass(frozen=True)
class Words:
    """`x`, `y`: where the line begins, ends or has its middle, and on what it stands. `upright`: it begins there and
    goes up."""

    text: str
    x: float
    y: float
    size: float = 11.0
    colour: str = INK
    anchor: Literal["start", "middle", "end"] = "start"
    upright: bool = False


@dataclass(frozen=True, eq=False)
class Raster:
    """Flat cells of colour."""

    rgb: RGB
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, eq=False)
class Overlay:
    """A photograph with a map over `box_xyxy`, pixels of the photograph; see `overlay.overlay`. `marked`: the cell of
    the query, as a box in the same pixels; `ringed`: cells that are spoken of."""

    image: RGB
    places: Places
    box_xyxy: Box
    x: float
    y: float
    width: float
    height: float
    scale: Scale
    opacities: tuple[float, float] = (FLOOR, CEILING)
    marked: Box | None = None
    ringed: tuple[Box, ...] = ()

    def painted(self) -> dict[str, Any]:
        """As the functions that paint take it."""
        floor, ceiling = self.opacities
        return {"scale": self.scale, "floor": floor, "ceiling": ceiling}

    def outlines(self) -> "list[Outline]":
        """What the model saw, and the query: dark below light, so that they are seen on any picture."""
        seen = self._outline(self.box_xyxy, "#ffffff", 3.0), self._outline(self.box_xyxy, "#4338ca", 1.6)
        return [*seen, *self.cells()]

    def cells(self) -> "list[Outline]":
        """The query's, and those that are spoken of."""
        boxes = [*(() if self.marked is None else ((self.marked, "#ffffff"),)), *((box, RING) for box in self.ringed)]
        return [
            self._outline(box, colour, share * min(4.0, 0.4 * self._across(box)))  # of a small map the cell is seen too
            for box, own in boxes
            for colour, share in (("#000000", 1.0), (own, 0.5))
        ]

    def _across(self, box: Box) -> float:
        return (box[2] - box[0]) * self.width / self.image.shape[1]

    def _outline(self, box: Box, colour: str, line: float) -> "Outline":
        across, down = self.width / self.image.shape[1], self.height / self.image.shape[0]
        x0, y0, x1, y1 = box
        left, upper = max(0.0, x0 * across), max(0.0, y0 * down)
        right, lower = min(self.width, x1 * across), min(self.height, y1 * down)
        return Outline(self.x + left, self.y + upper, right - left, lower - upper, colour, line)


@dataclass(frozen=True)
class Outline:
    x: float
    y: float
    width: float
    height: float
    colour: str
    line: float


@dataclass(frozen=True)
class Stroke:
    """A line through points (x, y); a single point is drawn as a dot."""

    points: tuple[tuple[float, float], ...]
    colour: str
    line: float
    dash: Literal["solid", "dash", "dot"] = "solid"

    def pieces(self) -> list[list[tuple[float, float]]]:
        """What is drawn of it: all, or with a dash every other part of the way along it."""
        places = np.array(self.points * (2 if len(self.points) == 1 else 1), float)
        way = np.concatenate([[0.0], np.hypot(*np.diff(places, axis=0).T).cumsum()])
        on, off = PATTERNS.get(self.dash, (float(way[-1]) + 1, 0.0))
        pieces = []
        for start in np.arange(0, max(float(way[-1]), 1e-9), on + off):
            end = min(start + on, way[-1])
            at = [start, *way[(way > start) & (way < end)], end]
            pieces.append(list(zip(*(np.interp(at, way, axis).tolist() for axis in places.T), strict=True)))
        return pieces


def moved(mark: "Mark", x: float, y: float) -> "Mark":
    """The same mark so much further to the right and down."""
    if isinstance(mark, Stroke):
        return replace(mark, points=tuple((left + x, top + y) for left, top in mark.points))
    return replace(mark, x=mark.x + x, y=mark.y + y)


def _scaled(mark: "Mark", times: float, text_pt: tuple[float, float]) -> "Mark":
    """The same mark so many times as large, text between these two sizes."""
    if isinstance(mark, Stroke):
        return replace(mark, points=tuple((x * times, y * times) for x, y in mark.points), line=mark.line * times)
    if isinstance(mark, Words):
        return replace(mark, x=mark.x * times, y=mark.y * times, size=float(np.clip(mark.size * times, *text_pt)))
    box = {name: getattr(mark, name) * times for name in ("x", "y", "width", "height")}
    return replace(mark, **box, **({"line": mark.line * times} if isinstance(mark, Outline) else {}))


PATTERNS = {"dash": (6.0, 3.0), "dot": (1.5, 2.5)}  # drawn, left out; points
Mark = Words | Raster | Overlay | Outline | Stroke
Drawn = tuple[list[Mark], float]
"""Marks, and where they end."""


@dataclass(frozen=True, eq=False)
class Plate:
    """`title` and `facts` are written in the file too: name → text. `least_dpi`: of a PNG."""

    width: float
    height: float
    title: str
    marks: tuple[Mark, ...]
    facts: dict[str, str] = field(default_factory=dict)
    least_dpi: int = 144


def printed(plate: Plate, times: float, text_pt: tuple[float, float]) -> Plate:
    """The sheet so many times as large for print, its text between these two sizes."""
    marks = tuple(_scaled(mark, times, text_pt) for mark in plate.marks)
    return replace(plate, width=plate.width * times, height=plate.height * times, marks=marks, least_dpi=PRINT_DPI)
