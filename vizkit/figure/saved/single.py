"""One map over its picture: title, what it is of, the map, its colour scale, and where it comes from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vizkit.figure.palette import CEILING, FLOOR, colours
from vizkit.figure.saved.plate import (
    INK,
    PALE,
    Drawn,
    Mark,
    Overlay,
    Plate,
    Raster,
    Stroke,
    Words,
    clean,
    font,
    wrapped,
)
from vizkit.figure.scales import Places, Scale
from vizkit.geometry import Box
from vizkit.image import RGB

WIDTH, MARGIN = 480.0, 14.0
TALLEST = 560.0  # of the photograph
TITLE, TEXT, SMALL = 15.0, 11.0, 8.5
BAR = 11.0
NEAREST = 2.0  # between two values below a bar
MOST_LINES = 60  # of one text: a stranger's may be long


@dataclass(frozen=True)
class Captions:
    """What stands around the picture. `lines`: below the title; `footer`: where it comes from, small, at the end;
    `facts`: what is written in the file and not drawn."""

    title: str
    lines: Sequence[str]
    footer: Sequence[str]
    facts: dict[str, str]


GRIDS = (("#ffffff", 0.3), ("#38e0ff", 1.0))  # colours and widths of their lines, as on the page


@dataclass(frozen=True, eq=False)
class MapOf:
    """A map with its colour scale. `quantity`: what the numbers are. `marked`: the query's cell, as fractions (x0,
    y0, x1, y1) of what the model saw; `ringed`: such cells that are spoken of. `grids`: (rows, columns) whose lines
    are drawn where there are no colours, the fine one first."""

    places: Places
    scale: Scale
    quantity: str
    marked: Box | None = None
    opacities: tuple[float, float] = (FLOOR, CEILING)
    grids: tuple[tuple[int, int], ...] = ()
    ringed: tuple[Box, ...] = ()


def map_marks(image: RGB, box_xyxy: Box, drawn: MapOf, y: float, sheet: float = WIDTH) -> Drawn:
    """(the photograph with its map, what the model saw, the query's cell and the colours, from `y` down on a sheet that
    is so wide; where they end)."""
    inner = sheet - 2 * MARGIN
    times = min(inner / image.shape[1], TALLEST / image.shape[0])
    width, height = image.shape[1] * times, image.shape[0] * times
    x0, y0, x1, y1 = box_xyxy
    marked = drawn.marked and within(drawn.marked, box_xyxy)
    left = (sheet - width) / 2
    over = Overlay(
        image,
        drawn.places,
        box_xyxy,
        left,
        y,
        width,
        height,
        drawn.scale,
        opacities=drawn.opacities,
        marked=marked,
        ringed=tuple(within(each, box_xyxy) for each in drawn.ringed),
    )
    if max(drawn.opacities) == 0:  # no map, so no colours
        box = left + x0 * times, y + y0 * times, left + x1 * times, y + y1 * times
        lines = (line for grid, look in zip(drawn.grids, GRIDS, strict=False) for line in grid_lines(grid, box, *look))
        return [over, *lines, *over.outlines()], y + height + 6
    bar, y = map_bar(y + height + 8, inner, drawn.scale, drawn.quantity)
    return [over, *over.outlines(), *bar], y


def within(part: Box, box: Box) -> Box:
    """A part of a box, given in fractions of it, in the coordinates of the box."""
    x0, y0, x1, y1 = box
    across, down = x1 - x0, y1 - y0
    return x0 + part[0] * across, y0 + part[1] * down, x0 + part[2] * across, y0 + part[3] * down


def grid_lines(grid: tuple[int, int], box: Box, colour: str, width: float) -> Iterator[Mark]:
    """Between the cells of (rows, columns)."""
    (rows, columns), (x0, y0, x1, y1) = grid, box
    across = (x0 + (x1 - x0) * n / columns for n in range(1, columns))
    down = (y0 + (y1 - y0) * n / rows for n in range(1, rows))
    yield from (Stroke(((x, y0), (x, y1)), colour, width) for x in across)
    yield from (Stroke(((x0, y), (x1, y)), colour, width) for y in down)


def top_lines(captions: Captions, width: float) -> Drawn:
    """(title and lines, where they end)."""
    marks: list[Mark] = []
    y = MARGIN
    for size, text in ((TITLE, captions.title), *((TEXT, line) for line in captions.lines)):
        for line in wrapped(text, size, width - 2 * MARGIN, 4):
            y += size * 1.25
            marks.append(Words(line, MARGIN, y - 0.2 * size, size))
    return marks, y + 8


def text_lines(text: str, size: float, y: float, width: float, colour: str = INK) -> Drawn:
    """(a text on as many lines as it needs, from `y` down; where it ends)."""
    lines = wrapped(text, size, width, MOST_LINES)
    marks: list[Mark] = [
        Words(line, MARGIN, y + (1.3 * at + 1.05) * size, size, colour) for at, line in enumerate(lines)
    ]
    return marks, y + 1.3 * len(lines) * size


def map_bar(y: float, width: float, scale: Scale, quantity: str) -> Drawn:
    """(the colours with their values below, and what they are, between two ends where there is room; where they end).
    On a narrow sheet the values that would touch the one before them or the last are left out."""
    marks: list[Mark] = [Raster(colours(scale.palette)[None], MARGIN, y, width, BAR)]
    quantity = " · ".join(filter(None, (quantity, scale.said)))
    y += BAR + SMALL + 3
    first, *inner, last = ((at, text, font(SMALL).getlength(text)) for at, text in scale.ticks)
    marks.append(Words(first[1], MARGIN, y, SMALL))
    free, ends = first[2] + NEAREST, width - last[2] - NEAREST
    for at, text, wide in inner:
        if free <= at * width - wide / 2 and at * width + wide / 2 <= ends:
            marks.append(Words(text, MARGIN + at * width, y, SMALL, INK, "middle"))
            free = at * width + wide / 2 + NEAREST
    marks.append(Words(last[1], MARGIN + width, y, SMALL, INK, "end"))
    between = width - 2 * max(first[2], last[2]) - 2 * SMALL
    if quantity and not inner and font(SMALL).getlength(clean(quantity)) <= between:
        y -= SMALL * 1.3
    for line in wrapped(quantity, SMALL, width, 4):
        y += SMALL * 1.3
        marks.append(Words(line, MARGIN + width / 2, y, SMALL, INK, "middle"))
    return marks, y + 4


def below(marks: Sequence[Mark], captions: Captions, width: float, y: float) -> Plate:
    """The plate with its last lines."""
    last: list[Mark] = []
    for text in captions.footer:
        for line in wrapped(text, SMALL, width - 2 * MARGIN, 4):
            y += SMALL * 1.35
            last.append(Words(line, MARGIN, y, SMALL, PALE))
    return Plate(width, y + MARGIN * 0.8, captions.title, (*marks, *last), captions.facts)
