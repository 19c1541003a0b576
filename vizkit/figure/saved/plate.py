"""A picture to be saved, as marks on paper: `png` and `svg` draw the same ones. Lengths in points of the SVG."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.palette import CEILING, FLOOR, SCALE
from vizkit.geometry import Box

INK, PALE = "#16182b", "#565a75"


@dataclass(frozen=True)
class Words:
    """`x`, `y`: where the line begins, ends or has its middle, and on what it stands."""

    text: str
    x: float
    y: float
    size: float = 11.0
    colour: str = INK
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True, eq=False)
class Raster:
    """Flat cells of colour."""

    rgb: UInt8[np.ndarray, "height width 3"]
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, eq=False)
class Overlay:
    """A photograph with a map over `box_xyxy`, pixels of the photograph; see `overlay.overlay`. `marked`: the cell of
    the query, as a box in the same pixels."""

    image: UInt8[np.ndarray, "height width 3"]
    places: Float[np.ndarray, "row column"]
    box_xyxy: Box
    x: float
    y: float
    width: float
    height: float
    low: float = 0.0
    top: float = 1.0
    unit: str = "%"
    scale: str = SCALE
    opacities: tuple[float, float] = (FLOOR, CEILING)
    marked: Box | None = None

    def painted(self) -> dict[str, Any]:
        """As the functions that paint take it."""
        floor, ceiling = self.opacities
        return {"low": self.low, "top": self.top, "scale": self.scale, "floor": floor, "ceiling": ceiling}

    def outlines(self) -> "list[Outline]":
        """What the model saw, and the query: dark below light, so that they are seen on any picture."""
        across, down = self.width / self.image.shape[1], self.height / self.image.shape[0]

        def outline(box: Box, colour: str, line: float) -> Outline:
            x0, y0, x1, y1 = box
            left, upper = max(0.0, x0 * across), max(0.0, y0 * down)
            right, lower = min(self.width, x1 * across), min(self.height, y1 * down)
            return Outline(self.x + left, self.y + upper, right - left, lower - upper, colour, line)

        marks = [outline(self.box_xyxy, "#ffffff", 3.0), outline(self.box_xyxy, "#4338ca", 1.6)]
        if self.marked is not None:
            marks += [outline(self.marked, "#000000", 4.0), outline(self.marked, "#ffffff", 2.0)]
        return marks


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


PATTERNS = {"dash": (6.0, 3.0), "dot": (1.5, 2.5)}  # drawn, left out; points
Mark = Words | Raster | Overlay | Outline | Stroke


@dataclass(frozen=True, eq=False)
class Plate:
    """`title` and `facts` are written in the file too: name → text."""

    width: float
    height: float
    title: str
    marks: tuple[Mark, ...]
    facts: dict[str, str] = field(default_factory=dict)
