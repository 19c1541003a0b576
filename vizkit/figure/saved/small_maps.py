"""Small maps beside one another: of every layer, of every method, of every model."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from vizkit.figure.class_bars import Answer
from vizkit.figure.saved.lying_bars import flat
from vizkit.figure.saved.plate import (
    INK,
    PALE,
    Drawn,
    Mark,
    Outline,
    Overlay,
    Raster,
    Words,
    clean,
    fitting,
    font,
    wrapped,
)
from vizkit.figure.saved.single import MARGIN, SMALL, WIDTH, map_bar, within
from vizkit.figure.scales import DOUBLINGS, Places, Scale
from vizkit.geometry import Box
from vizkit.image import RGB

GAP, NEAR, LINE = 8.0, 4.0, SMALL * 1.25  # between maps in rows, in a table; from line to line
LEGIBLE = 28.0  # the side of a map in a table, where the width of the sheet is free: 1 cm
MOST_BARS = 3
LARGEST = 2.2  # times the least side: few maps do not fill the sheet
CHOSEN = "#4338ca"
PALER = 0.42  # a bar behind words, on white


@dataclass(frozen=True, eq=False)
class SmallMap:
    """`places`: None where there is no map, and `note` says why. `chosen`: framed, for it is the large one. `answers`:
    below it, what the model says of the image. `marked`: the query's cell, as fractions (x0, y0, x1, y1) of what the
    model saw."""

    name: str
    note: str
    image: RGB
    box_xyxy: Box
    places: Places | None
    scale: Scale
    chosen: bool = False
    answers: Sequence[Answer] = ()
    marked: Box | None = None


def across(count: int, least: float, sheet: float = WIDTH) -> int:
    """How many stand in a row, each at least so wide, in rows of about the same length."""
    most = max(1, int((sheet - 2 * MARGIN + GAP) // (least + GAP)))
    return ceil(count / ceil(count / most)) if count else 1


def small_maps(
    maps: Sequence[SmallMap], beside: int, most: float, opacities: tuple[float, float], y: float, sheet: float = WIDTH
) -> Drawn:
    """(maps from `y` down, `beside` one another, each at most so wide; where they end)."""
    side = min((sheet - 2 * MARGIN + GAP) / beside - GAP, most)
    rows = [maps[start : start + beside] for start in range(0, len(maps), beside)]
    return _rows(rows, [[] for _ in rows], MARGIN, side, GAP, opacities, y, sheet)


def table_of_maps(
    columns: Sequence[str],
    names: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[SmallMap]],
    most: float,
    opacities: tuple[float, float],
    y: float,
    sheet: float = WIDTH,
    pictures: Sequence[RGB] = (),
) -> Drawn:
    """(maps from `y` down as they stand on the page: below the names of their `columns`, behind the `names` and notes
    of their rows, each at most so wide; where they end). `pictures`: of the first rows, above their names."""
    inner = sheet - 2 * MARGIN
    left = _beside([text for name in names for text in name], inner)
    side = min((inner - left + NEAR) / len(columns) - NEAR, most)
    headings = [_lines(name, "", side) for name in columns]
    marks: list[Mark] = []
    for place, lines in enumerate(headings):
        marks += _texts(lines, MARGIN + left + place * (side + NEAR), y)
    y += max(map(len, headings)) * LINE
    labels = [_lines(name, note, left - GAP) for name, note in names]
    made, y = _rows(rows, labels, MARGIN + left, side, NEAR, opacities, y, sheet, pictures)
    return marks + made, y


def width_of_table(columns: int, names: Sequence[str]) -> float:
    """Of a sheet on which every map of such a table can be told from its neighbour."""
    return 2 * MARGIN + _beside(names, WIDTH) + columns * (LEGIBLE + NEAR)


def _beside(names: Sequence[str], inner: float) -> float:
    """The room for the names of rows: of the longest, or a fifth of the sheet, in which they are broken."""
    longest = max((font(SMALL).getlength(clean(name)) for name in names), default=0.0)
    return min(longest + 1, inner / 5) + GAP if longest else 0.0


def _rows(
    rows: Sequence[Sequence[SmallMap]],
    labels: Sequence[list[tuple[str, str]]],
    left: float,
    side: float,
    gap: float,
    opacities: tuple[float, float],
    y: float,
    sheet: float,
    pictures: Sequence[RGB] = (),
) -> Drawn:
    """With a bar of colours for each scale where there are few of them, else each map has its own ends below it."""
    drawn = [each for row in rows for each in row if each.places is not None]
    bars: dict[object, list[SmallMap]] = {}
    for each in drawn:
        bars.setdefault((each.scale.palette, each.scale.ticks), []).append(each)
    lying = len(drawn) > 1 and len(bars) <= MOST_BARS and max(opacities) > 0
    marks: list[Mark] = []
    before = [*pictures, *[None] * (len(rows) - len(pictures))]
    for row, label, picture in zip(rows, labels, before, strict=True):
        words = [_lines(each.name, each.note, side) for each in row]
        top, lowest = y + max(map(len, words)) * LINE + 3, y
        if picture is not None:
            wide = left - MARGIN - GAP
            tall = wide * picture.shape[0] / picture.shape[1]
            marks.append(Raster(picture, MARGIN, top, wide, tall))
            lowest = top + tall
        marks += _texts(label, MARGIN, lowest)
        lowest += len(label) * LINE
        for place, (each, lines) in enumerate(zip(row, words, strict=True)):
            x = left + place * (side + gap)
            made, bottom = _map(each, opacities, x, top, side, said=not lying)
            listed, bottom = _answers(each.answers, x, bottom, side)
            marks, lowest = [*marks, *_texts(lines, x, y), *made, *listed], max(lowest, bottom)
        y = lowest + gap
    for same in bars.values() if lying else ():
        scale = same[0].scale
        one = "" if scale.kind == DOUBLINGS else "one scale for all of them"  # it says what it counts
        made, y = map_bar(
            y, sheet - 2 * MARGIN, scale, one if len(bars) == 1 else ", ".join(each.name for each in same)
        )
        marks += made
    return marks, y


def _answers(answers: Sequence[Answer], x: float, y: float, side: float) -> Drawn:
    """(a line for each: its share as a bar behind its class and its value; where they end)."""
    marks: list[Mark] = []
    for each in answers:
        value = each.value + {None: "", True: " ✓", False: " ✗"}[each.right]
        if each.share > 0:
            pale = (255 - PALER * (255 - flat(each.colour))).astype(np.uint8)
            marks.append(Raster(pale, x, y + 2, side * each.share, LINE))
        y += LINE + 2
        name = fitting(each.name, SMALL, side - font(SMALL).getlength(value) - NEAR)
        marks += [Words(name, x, y - 2, SMALL), Words(value, x + side, y - 2, SMALL, INK, "end")]
    return marks, y


def _texts(lines: Sequence[tuple[str, str]], x: float, y: float) -> list[Mark]:
    return [Words(text, x, y + (at + 1) * LINE - 2, SMALL, ink) for at, (text, ink) in enumerate(lines)]


def _lines(name: str, note: str, width: float) -> list[tuple[str, str]]:
    """A name and a note, in lines with their colours."""
    every = ((name, INK), (note, PALE))
    return [(line, ink) for text, ink in every for line in wrapped(text, SMALL, width, 12)]


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
    marked = each.marked and within(each.marked, box)
    over = Overlay(part, each.places, box, x, y, side, tall, each.scale, opacities, marked)
    marks: list[Mark] = [over, *over.cells()]
    if each.chosen:
        marks.append(Outline(x, y, side, tall, CHOSEN, 2.4))
    y += tall
    low, top = each.scale.ticks[0][1], each.scale.ticks[-1][1]
    fits = font(SMALL).getlength(f"{low} to {top}") <= side
    for line in () if not said else (f"{low} to {top}",) if fits else (f"{low} to", top):
        y += LINE
        marks.append(Words(line, x, y, SMALL, PALE))
    return marks, y
