"""A view on paper: the blocks of the page in their order, a column for each model, as marks that PNG and SVG share."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vizkit.figure.palette import CEILING, CLASSES, FLOOR, SCALE, SIGNED
from vizkit.figure.saved.panels import chart_marks, panel_of
from vizkit.figure.saved.plate import INK, PALE, Mark, Overlay, Plate, Raster, Words, moved
from vizkit.figure.saved.single import (
    MARGIN,
    SMALL,
    TEXT,
    WIDTH,
    Captions,
    MapOf,
    below,
    map_marks,
    number_words,
    scale_bar,
    top_lines,
)
from vizkit.figure.saved.text import fitting, wrapped
from vizkit.views.blocks import (
    Block,
    Canvas,
    Chart,
    Folded,
    Formula,
    Grid,
    Heading,
    Limits,
    Line,
    Map,
    Metrics,
    Numbers,
    Picture,
    Proof,
    Said,
    Table,
    Tile,
    Tiles,
    flat,
)
from vizkit.views.subject import Subject
from vizkit.views.view import View

__all__ = ["plate"]

INNER = WIDTH - 2 * MARGIN
GAP, BAR = 8.0, 13.0
MOST_LINES = 6  # of one text
PALEST = "#e4e2f7"
Draw = tuple[float, float]


@dataclass
class Column:
    """One model's part of the sheet, WIDTH wide: `y` is where the next block begins."""

    of: Sequence[Subject]
    opacities: Draw
    y: float = 0.0
    marks: list[Mark] = field(default_factory=list)

    def text(self, words: str, size: float, colour: str = INK) -> None:
        for line in wrapped(words, size, INNER, MOST_LINES):
            self.y += size * 1.3
            self.marks.append(Words(line, MARGIN, self.y - 0.25 * size, size, colour))
        self.y += 3

    def subject(self, block: Map | Tiles) -> Subject:
        return next(of for of in self.of if block.of in (None, of))


def plate(view: View, of: Sequence[Subject], captions: Captions, opacities: Draw = (FLOOR, CEILING)) -> Plate:
    """The sheet of a view: every subject in a column under its name, two in a row from three on; those of a view that
    shows all at once in a single one. Raises NotApplicable where there is nothing to draw."""
    groups = [list(of)] if view.together or not of else [[each] for each in of]
    columns = [Column(group, opacities) for group in groups]
    for column in columns:
        if len(columns) > 1:
            column.text(column.of[0].name, TEXT * 1.2)
        shown = view.show(column.of if view.together else column.of[0])
        for block in flat(shown):
            DRAWN[type(block)](column, block)
    across = min(2, len(columns)) if len(columns) != 3 else 2
    width = WIDTH * across
    marks, top = top_lines(captions, width)
    for start in range(0, len(columns), across):
        row = columns[start : start + across]
        marks += [moved(mark, WIDTH * place, top) for place, column in enumerate(row) for mark in column.marks]
        top += max(column.y for column in row) + GAP
    return below(marks, captions, width, top)


# ---- one block each --------------------------------------------------------------------------------------------------
def _heading(to: Column, block: Heading) -> None:
    to.y += GAP
    to.text(block.text, TEXT * 1.2)


def _said(to: Column, block: Said) -> None:
    if block.text:
        to.text(block.text, TEXT * 1.1)


def _map(to: Column, block: Map) -> None:
    of, rows = to.subject(block), block.rows
    if block.instead is not None:
        return _picture(to, Picture(block.instead, block.label, block.said))
    if rows.key_grid is None:
        return None
    asked = rows.query_id(block.query)
    places, _ = rows.row_of(asked)
    unit = "" if rows.kind in ("similarity", "features") else "%"
    top = rows.top or float(places.max(initial=0))
    drawn = MapOf(places, rows.low, top, block.quantity, unit, marked=rows.cell_box(asked), opacities=to.opacities)
    marks, to.y = map_marks(of.rgb, of.box_xyxy, drawn, to.y)
    to.marks += marks
    if block.said:
        to.text(block.said, TEXT * 1.1)
    for name, value in block.bars:
        _bar(to, name, value)
    to.y += 4


def _bar(to: Column, name: str, value: float | str) -> None:
    """A line of a list: the name, and its share as a bar and a number."""
    share = min(max(value, 0.0), 1.0) if isinstance(value, float | int) else 0.0
    if share:
        to.marks.append(Raster(_flat(PALEST), MARGIN, to.y, share * INNER, BAR))
    words = number_words(float(value), "%") if isinstance(value, float | int) else value
    to.marks.append(Words(fitting(name, TEXT, INNER * 0.7), MARGIN + 4, to.y + BAR - 3, TEXT))
    to.marks.append(Words(words, MARGIN + INNER - 4, to.y + BAR - 3, TEXT, INK, "end"))
    to.y += BAR + 2


def _flat(colour: str) -> np.ndarray:
    return np.array([[[int(colour[i : i + 2], 16) for i in (1, 3, 5)]]], np.uint8)


def _tiles(to: Column, block: Tiles) -> None:
    if block.title:
        _heading(to, Heading(block.title))
    of = to.subject(block)
    across = max(1, min(len(block.maps), int(INNER // (block.tile_px * 1.06 + GAP))))
    _tile_rows(to, block.maps, [of] * len(block.maps), block.limits, across)


def _grid(to: Column, block: Grid) -> None:
    for head, maps, limits in zip(block.rows, block.maps, block.limits, strict=True):
        _heading(to, Heading(head.name))
        named = tuple(replace(tile, name=of.name) for tile, of in zip(maps, block.of, strict=True))
        _tile_rows(to, named, block.of, limits, len(block.of))


def _tile_rows(to: Column, maps: Sequence[Tile], of: Sequence[Subject], limits: Sequence[Limits], across: int) -> None:
    """Maps beside one another, each with its own ends of the colours, or all with one bar where they share them."""
    one_scale = len(set(limits)) == 1 and len({(tile.signed, tile.unit) for tile in maps}) == 1
    side = INNER / across - GAP
    for start in range(0, len(maps), across):
        lowest = to.y
        for place, index in enumerate(range(start, min(start + across, len(maps)))):
            x = MARGIN + place * (side + GAP)
            bottom = _tile(to, maps[index], of[index], limits[index], x, side, said=not one_scale)
            lowest = max(lowest, bottom)
        to.y = lowest + 4
    if one_scale and maps:
        (low, top), tile = limits[0], maps[0]
        ends = (number_words(float(low), tile.unit), number_words(float(top), tile.unit))
        marks, to.y = scale_bar(to.y, INNER, SIGNED if tile.signed else SCALE, ends, "one scale for all of them")
        to.marks += marks


def _tile(to: Column, tile: Tile, of: Subject, limits: Limits, x: float, side: float, *, said: bool) -> float:
    """Where it ends."""
    to.marks.append(Words(fitting(tile.name, SMALL, side), x, to.y + SMALL, SMALL))
    y = to.y + SMALL + 4
    if tile.places is None:
        for line in wrapped(tile.note, SMALL, side, 4):
            y += SMALL * 1.3
            to.marks.append(Words(line, x, y - 2, SMALL, PALE))
        return y
    x0, y0, x1, y1 = of.box_xyxy
    height, width = of.rgb.shape[:2]
    left, upper, right, lower = max(0, round(x0)), max(0, round(y0)), min(width, round(x1)), min(height, round(y1))
    part = of.rgb[upper:lower, left:right]  # what the model saw; it may have seen a border beyond the picture too
    box = (x0 - left, y0 - upper, x1 - left, y1 - upper)
    tall = side * part.shape[0] / part.shape[1]
    scale = SIGNED if tile.signed else SCALE
    low, top = map(float, limits)
    to.marks.append(Overlay(part, tile.places, box, x, y, side, tall, low, top, tile.unit, scale, to.opacities))
    y += tall
    if said:
        ends = f"{number_words(low, tile.unit)} to {number_words(top, tile.unit)}"
        to.marks.append(Words(fitting(ends, SMALL, side), x, y + SMALL + 1, SMALL, PALE))
        y += SMALL * 1.4
    return y


def _picture(to: Column, block: Picture) -> None:
    width = INNER * min(1.0, block.share)
    height = width * block.rgb.shape[0] / block.rgb.shape[1]
    to.marks.append(Raster(block.rgb, MARGIN, to.y, width, height))
    to.y += height + 3
    if block.caption:
        to.text(block.caption, SMALL * 1.1, PALE)


def _chart(to: Column, block: Chart) -> None:
    panel = panel_of(block.figure)
    marks, to.y = chart_marks(replace(panel, title=block.title or panel.title), to.y)
    to.marks += marks
    to.y += GAP


def _table(to: Column, block: Table) -> None:
    if not block.rows:
        return
    names = list(block.rows[0])
    width = INNER / len(names)
    for row in ({name: name for name in names}, *block.rows):
        to.y += SMALL * 1.5
        for place, name in enumerate(names):
            value = row.get(name)
            words = "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
            colour = PALE if row is not block.rows[0] and value == name else INK
            to.marks.append(Words(fitting(words, SMALL, width - 4), MARGIN + place * width, to.y, SMALL, colour))
    to.y += GAP
    if block.caption:
        to.text(block.caption, SMALL * 1.1, PALE)


def _proof(to: Column, block: Proof) -> None:
    if failure := block.trace.check.failure:
        to.text(failure, TEXT, CLASSES[1])


def _nothing(to: Column, block: Block) -> None:
    """Not on paper."""


def _metrics(to: Column, block: Metrics) -> None:
    for what, number, more in block.items:
        _bar(to, what, f"{number} ({more})" if more else number)


def _canvas(to: Column, block: Canvas) -> None:
    for inner in flat(block.still):
        DRAWN[type(inner)](to, inner)


DRAWN: dict[type, Callable[[Column, Any], None]] = {
    Heading: _heading,
    Line: lambda to, block: to.text(block.text, SMALL * 1.1, PALE),
    Said: _said,
    Formula: _nothing,
    Map: _map,
    Tiles: _tiles,
    Grid: _grid,
    Picture: _picture,
    Chart: _chart,
    Table: _table,
    Metrics: _metrics,
    Canvas: _canvas,
    Folded: _nothing,
    Proof: _proof,
    Numbers: _nothing,
}


def numbers(blocks: Iterable[Block]) -> dict[str, np.ndarray]:
    """What all Numbers of a view hold together."""
    return {name: array for block in blocks if isinstance(block, Numbers) for name, array in block.make().items()}
