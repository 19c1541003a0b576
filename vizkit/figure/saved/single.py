"""One map over its picture: title, what it is of, the map, its colour scale, and where it comes from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.overlay import times_of
from vizkit.figure.palette import CEILING, FLOOR, SCALE, SIGNED, colours
from vizkit.figure.saved.plate import INK, PALE, Mark, Overlay, Plate, Raster, Stroke, Words, clean, font, wrapped
from vizkit.geometry import Box

WIDTH, MARGIN = 480.0, 14.0
TALLEST = 560.0  # of the photograph
TITLE, TEXT, SMALL = 15.0, 11.0, 8.5
BAR = 11.0
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
    """A map with its colour scale. `low`, `top`: the values at its ends; signed, it goes from −top over 0 to top.
    `unit`: "%" or "". `quantity`: what the numbers are. `beyond`: single values lie outside. `marked`: the query's
    cell, as fractions (x0, y0, x1, y1) of what the model saw. `ends`: words at the two ends in place of their
    values. `grids`: (rows, columns) whose lines are drawn where there are no colours, the fine one first."""

    places: Float[np.ndarray, "row column"]
    low: float
    top: float
    quantity: str
    unit: str = "%"
    signed: bool = False
    beyond: bool = False
    marked: Box | None = None
    opacities: tuple[float, float] = (FLOOR, CEILING)
    ends: tuple[str, ...] = ()
    grids: tuple[tuple[int, int], ...] = ()


def map_marks(
    image: UInt8[np.ndarray, "height width 3"], box_xyxy: Box, drawn: MapOf, y: float, sheet: float = WIDTH
) -> tuple[list[Mark], float]:
    """(the photograph with its map, what the model saw, the query's cell and the colours, from `y` down on a sheet that
    is so wide; where they end)."""
    inner = sheet - 2 * MARGIN
    times = min(inner / image.shape[1], TALLEST / image.shape[0])
    width, height = image.shape[1] * times, image.shape[0] * times
    x0, y0, x1, y1 = box_xyxy
    marked = drawn.marked and (
        x0 + drawn.marked[0] * (x1 - x0),
        y0 + drawn.marked[1] * (y1 - y0),
        x0 + drawn.marked[2] * (x1 - x0),
        y0 + drawn.marked[3] * (y1 - y0),
    )
    scale = SIGNED if drawn.signed else SCALE
    left = (sheet - width) / 2
    painted = {"low": drawn.low, "top": drawn.top, "unit": drawn.unit, "scale": scale, "opacities": drawn.opacities}
    over = Overlay(image, drawn.places, box_xyxy, left, y, width, height, marked=marked, **painted)
    if max(drawn.opacities) == 0:  # no map, so no colours
        box = left + x0 * times, y + y0 * times, left + x1 * times, y + y1 * times
        lines = (line for grid, look in zip(drawn.grids, GRIDS, strict=False) for line in grid_lines(grid, box, *look))
        return [over, *lines, *over.outlines()], y + height + 6
    bar, y = scale_bar(y + height + 8, inner, scale, drawn.ends or _ends(drawn), drawn.quantity)
    return [over, *over.outlines(), *bar], y


def grid_lines(grid: tuple[int, int], box: Box, colour: str, width: float) -> Iterator[Mark]:
    """Between the cells of (rows, columns)."""
    (rows, columns), (x0, y0, x1, y1) = grid, box
    across = (x0 + (x1 - x0) * n / columns for n in range(1, columns))
    down = (y0 + (y1 - y0) * n / rows for n in range(1, rows))
    yield from (Stroke(((x, y0), (x, y1)), colour, width) for x in across)
    yield from (Stroke(((x0, y), (x1, y)), colour, width) for y in down)


def _ends(drawn: MapOf) -> tuple[str, ...]:
    """The values at the ends of the colours, and of signed ones their middle."""
    beyond = ("≤ ", "≥ ") if drawn.beyond else ("", "")
    low = number_words(-drawn.top if drawn.signed else drawn.low, drawn.unit)
    middle = ("0",) if drawn.signed or 0 < drawn.top == -drawn.low else ()
    return f"{beyond[0]}{low}", *middle, f"{beyond[1]}{number_words(drawn.top, drawn.unit)}"


def top_lines(captions: Captions, width: float) -> tuple[list[Mark], float]:
    """(title and lines, where they end)."""
    marks: list[Mark] = []
    y = MARGIN
    for size, text in ((TITLE, captions.title), *((TEXT, line) for line in captions.lines)):
        for line in wrapped(text, size, width - 2 * MARGIN, 2):
            y += size * 1.25
            marks.append(Words(line, MARGIN, y - 0.2 * size, size))
    return marks, y + 8


def text_lines(text: str, size: float, y: float, width: float, colour: str = INK) -> tuple[list[Mark], float]:
    """(a text on as many lines as it needs, from `y` down; where it ends)."""
    lines = wrapped(text, size, width, MOST_LINES)
    marks: list[Mark] = [
        Words(line, MARGIN, y + (1.3 * at + 1.05) * size, size, colour) for at, line in enumerate(lines)
    ]
    return marks, y + 1.3 * len(lines) * size


def scale_bar(y: float, width: float, scale: str, ends: Sequence[str], quantity: str) -> tuple[list[Mark], float]:
    """(the colours with their values below, two ends and perhaps a middle, and what they are, between two ends where
    there is room; where they end)."""
    marks: list[Mark] = [Raster(colours(scale)[None], MARGIN, y, width, BAR)]
    y += BAR + TEXT + 2
    anchors = ("start", "middle", "end") if len(ends) == 3 else ("start", "end")
    for text, at, anchor in zip(ends, np.linspace(0, width, len(ends)), anchors, strict=True):
        marks.append(Words(text, MARGIN + float(at), y, TEXT, INK, anchor))
    between = width - 2 * max(font(TEXT).getlength(text) for text in ends) - 2 * TEXT
    if quantity and len(ends) == 2 and font(TEXT).getlength(clean(quantity)) <= between:
        y -= TEXT * 1.3
    for line in wrapped(quantity, TEXT, width, 4):
        y += TEXT * 1.3
        marks.append(Words(line, MARGIN + width / 2, y, TEXT, INK, "middle"))
    return marks, y + 4


def below(marks: Sequence[Mark], captions: Captions, width: float, y: float) -> Plate:
    """The plate with its last lines."""
    last: list[Mark] = []
    for text in captions.footer:
        for line in wrapped(text, SMALL, width - 2 * MARGIN, 4):
            y += SMALL * 1.35
            last.append(Words(line, MARGIN, y, SMALL, PALE))
    return Plate(width, y + MARGIN * 0.8, captions.title, (*marks, *last), captions.facts)


def number_words(value: float, unit: str) -> str:
    """As it stands beside colours and bars; "×" of doublings, see `Tile`."""
    if unit == "×":
        value = times_of(value)
    if unit == "%":
        return f"{100 * value:.3g} %".replace("-", "−")
    return f"{value:.3g} {unit}".rstrip().replace("-", "−")
