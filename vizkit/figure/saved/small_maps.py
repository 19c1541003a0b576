"""Small maps beside one another: of every layer, of every method, of every model."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.saved.plate import INK, PALE, Mark, Outline, Overlay, Words, wrapped
from vizkit.figure.saved.single import MARGIN, SMALL, WIDTH, map_bar
from vizkit.figure.scales import DOUBLINGS, Scale
from vizkit.geometry import Box

GAP, LINE = 8.0, SMALL * 1.25
LARGEST = 2.2  # times the least side: few maps do not fill the sheet
CHOSEN = "#4338ca"
Drawn = tuple[list[Mark], float]


@dataclass(frozen=True, eq=False)
class SmallMap:
    """`places`: None where there is no map, and `note` says why. `chosen`: framed, for it is the large one."""

    name: str
    note: str
    image: UInt8[np.ndarray, "height width 3"]
    box_xyxy: Box
    places: Float[np.ndarray, "row column"] | None
    scale: Scale
    chosen: bool = False


def across(count: int, least: float, sheet: float = WIDTH) -> int:
    """How many stand in a row, each at least so wide, in rows of about the same length."""
    most = max(1, int((sheet - 2 * MARGIN + GAP) // (least + GAP)))
    return ceil(count / ceil(count / most)) if count else 1


def small_maps(
    maps: Sequence[SmallMap], beside: int, least: float, opacities: tuple[float, float], y: float, sheet: float = WIDTH
) -> Drawn:
    """(maps from `y` down, `beside` one another; where they end). With one bar of colours where all have the same, else
    each has its own ends below it."""
    bars = {(each.scale.palette, each.scale.ticks): each.scale for each in maps if each.places is not None}
    one_scale = len(maps) > 1 and len(bars) == 1
    side = min((sheet - 2 * MARGIN + GAP) / beside - GAP, LARGEST * least)
    marks: list[Mark] = []
    for start in range(0, len(maps), beside):
        row = maps[start : start + beside]
        words = [_words(each, side) for each in row]
        top, lowest = y + max(map(len, words)) * LINE + 3, y
        for place, (each, lines) in enumerate(zip(row, words, strict=True)):
            x = MARGIN + place * (side + GAP)
            marks += [Words(text, x, y + (at + 1) * LINE - 2, SMALL, ink) for at, (text, ink) in enumerate(lines)]
            made, bottom = _map(each, opacities, x, top, side, said=not one_scale)
            marks, lowest = [*marks, *made], max(lowest, bottom)
        y = lowest + GAP
    if one_scale and max(opacities):
        scale = next(iter(bars.values()))
        words = "times an equal share" if scale.kind == DOUBLINGS else "one scale for all of them"
        made, y = map_bar(y, sheet - 2 * MARGIN, scale, words)
        marks += made
    return marks, y


def _words(each: SmallMap, side: float) -> list[tuple[str, str]]:
    """The name and the note above a map, with their colours."""
    name, note = wrapped(each.name, SMALL, side, 12), wrapped(each.note, SMALL, side, 12)
    return [*((line, INK) for line in name), *((line, PALE) for line in note)]


def _map(each: SmallMap, opacities: tuple[float, float], x: float, y: float, side: float, *, said: bool) -> Drawn:
    """(what the model saw, with its map; where it ends)."""
    if each.places is None:
        return [], y
    x0, y0, x1, y1 = each.box_xyxy
    height, width = each.image.shape[:2]
    left, upper, right, lower = max(0, round(x0)), max(0, round(y0)), min(width, round(x1)), min(height, round(y1))
    part = each.image[upper:lower, left:right]  # the model may have seen a border beyond the picture too
    box = (x0 - left, y0 - upper, x1 - left, y1 - upper)
    tall = side * part.shape[0] / part.shape[1]
    marks: list[Mark] = [Overlay(part, each.places, box, x, y, side, tall, each.scale, opacities)]
    if each.chosen:
        marks.append(Outline(x, y, side, tall, CHOSEN, 2.4))
    y += tall
    for line in wrapped(" to ".join((each.scale.ticks[0][1], each.scale.ticks[-1][1])), SMALL, side, 2) if said else ():
        y += LINE
        marks.append(Words(line, x, y, SMALL, PALE))
    return marks, y
