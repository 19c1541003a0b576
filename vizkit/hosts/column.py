"""One column of a sheet of paper: how each block is drawn on it, below the one before."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from vizkit.figure.canvas.rows import cell_box
from vizkit.figure.palette import CLASSES, MARKS
from vizkit.figure.saved.listed import class_rows, glance, shares, table
from vizkit.figure.saved.panels import chart_marks, panel_of, widest
from vizkit.figure.saved.plate import INK, PALE, Mark, Raster, moved
from vizkit.figure.saved.single import MARGIN, SMALL, TEXT, WIDTH, MapOf, map_marks, text_lines
from vizkit.figure.saved.small_maps import LARGEST, SmallMap, across, small_maps, table_of_maps
from vizkit.image import RGB
from vizkit.views.blocks import (
    Answered,
    Bars,
    Block,
    Canvas,
    Chart,
    Code,
    Columns,
    Download,
    Folded,
    Formula,
    Grid,
    Heading,
    Hint,
    Line,
    Link,
    Map,
    Matrix,
    Metrics,
    Numbers,
    Paper,
    Picture,
    Process,
    Proof,
    Said,
    Table,
    Tile,
    Tiles,
    ToReport,
)
from vizkit.views.settled import flat, settled
from vizkit.views.subject import Subject

GAP = 10.0
LEAST = {
    Bars: 110.0,
    Matrix: 190.0,
    Map: 320.0,
    Table: 200.0,
    Chart: 200.0,
    Tiles: 200.0,
    Grid: 320.0,
}  # widths; of others:
NARROWEST = 60.0
MOST_LARGE = 3  # maps beside one another; more are there to be compared, and as small as charts
Draw = tuple[float, float]


@dataclass
class Column:
    """A part of the sheet, `width` wide with its margins: `y` is where the next block begins. `full`: small maps are as
    large as there is room."""

    of: Sequence[Subject]
    opacities: Draw
    width: float = WIDTH
    y: float = 0.0
    full: bool = False
    marks: list[Mark] = field(default_factory=list)

    @property
    def inner(self) -> float:
        return self.width - 2 * MARGIN

    def draw(self, blocks: Iterable[Block]) -> None:
        for block in settled(blocks):
            DRAWN[type(block)](self, block)

    def add(self, drawn: tuple[Sequence[Mark], float], gap: float | int = 0) -> None:
        """Marks from `y` down, and where they end."""
        marks, self.y = drawn
        self.marks += marks
        self.y += gap

    def text(self, words: str, size: float, colour: str = INK) -> None:
        if words:
            self.add(text_lines(words, size, self.y, self.inner, colour), 3)

    def subject(self, block: Map | Tiles) -> Subject:
        return block.of or self.of[0]


# ---- one block each --------------------------------------------------------------------------------------------------
def _heading(to: Column, block: Heading) -> None:
    to.y += GAP if to.y else 0
    to.text(block.text, TEXT * 1.2)


def _line(to: Column, block: Line) -> None:
    to.text(block.text, SMALL * 1.1, PALE)


def _said(to: Column, block: Said) -> None:
    to.text(block.text, TEXT * 1.15)


def _code(to: Column, block: Code) -> None:
    """Line by line, each where it begins."""
    for line in block.code.splitlines():
        begins = SMALL / 2 * (len(line) - len(line.lstrip()))
        marks, to.y = text_lines(line, SMALL, to.y, max(NARROWEST, to.inner - begins))
        to.marks += [moved(mark, begins, 0.0) for mark in marks]
    to.y += GAP


def _map(to: Column, block: Map) -> None:
    """Its sentence, the row of its query over the picture, and what it lists."""
    to.text(block.said, TEXT * 1.15)
    if block.rows.key_grid is not None:
        of, own = to.subject(block), block.instead
        image, box = (
            (of.rgb, of.box_xyxy) if own is None else (own, (0.0, 0.0, float(own.shape[1]), float(own.shape[0])))
        )
        to.add(map_marks(image, box, _row(block, of.asked, to.opacities), to.y, to.width), 2)
    to.add(shares(block.bars, to.y, to.width), 4)


def _row(block: Map, point: tuple[float, float], opacities: Draw) -> MapOf:
    """As the page draws it."""
    rows = block.rows
    asked = rows.query_id(block.query, point)
    places, _ = rows.row_of(asked)
    ringed = tuple(cell_box(place, rows.key_grid or (1, 1)) for place in block.ringed)
    row = MapOf(places, rows.scale_of(asked), block.quantity, rows.cell_box(asked), opacities, ringed=ringed)
    grids = tuple(filter(None, (rows.query_grid, rows.second_grid)))
    return replace(row, opacities=(0.0, 0.0), grids=grids) if rows.kind == "pick" else row


def _tiles(to: Column, block: Tiles) -> None:
    if block.title:
        _heading(to, Heading(block.title))
    of, chosen = block.over or (to.subject(block),) * len(block.maps), [value == block.chosen for value in block.values]
    maps = _small(block.maps, of, chosen or [False] * len(of))
    if block.columns:
        _table_of(to, block.columns, [(name, "") for name in block.rows], maps, float(block.tile_px))
        return
    least = float(min(NARROWEST, block.tile_px) if to.full else block.tile_px)
    beside = across(len(maps), least, to.width)
    to.add(small_maps(maps, beside, _most(to, block.tile_px), to.opacities, to.y, to.width))


def _grid(to: Column, block: Grid) -> None:
    tiles, under = [tile for tile, _ in block.cells], [each for _, each in block.cells]
    framed = [value == block.chosen and not block.pictured for value in block.told]
    maps = _small(tiles, under, framed + [False] * (len(tiles) - len(framed)))
    pictures = [row[0][1].rgb for row in block.maps[: block.pictured]]
    _table_of(to, block.columns, [(head.name, head.note) for head in block.rows], maps, to.inner / 3, pictures)
    _line(to, Line(block.quantity))


def _table_of(
    to: Column,
    columns: Sequence[str],
    names: Sequence[tuple[str, str]],
    maps: Sequence[SmallMap],
    least: float,
    pictures: Sequence[RGB] = (),
) -> None:
    rows = [maps[start : start + len(columns)] for start in range(0, len(maps), len(columns))]
    to.add(table_of_maps(columns, names, rows, _most(to, least), to.opacities, to.y, to.width, pictures))


def _most(to: Column, least: int | float) -> float:
    """How large a map becomes: few do not fill the sheet, unless it is their own."""
    return inf if to.full else LARGEST * least


def _small(tiles: Sequence[Tile], of: Sequence[Subject], chosen: Sequence[bool]) -> list[SmallMap]:
    return [
        SmallMap(
            tile.name,
            tile.note,
            each.rgb,
            each.box_xyxy,
            tile.places,
            tile.scale if tile.places is None else tile.scale.of(tile.places),
            own,
            tile.answers,
            tile.asks,
        )
        for tile, each, own in zip(tiles, of, chosen, strict=True)
    ]


def _picture(to: Column, block: Picture) -> None:
    wide = to.inner * min(1.0, block.share)
    tall = wide * block.rgb.shape[0] / block.rgb.shape[1]
    to.add(([Raster(block.rgb, MARGIN, to.y, wide, tall)], to.y + tall), 4)
    to.text(block.caption, SMALL * 1.1, PALE)


def _chart(to: Column, block: Chart) -> None:
    if block.still:
        to.draw(block.still)
        return
    panel = panel_of(block.figure)
    to.add(chart_marks(replace(panel, title=block.title or panel.title), to.y, to.width), GAP)


def _table(to: Column, block: Table) -> None:
    if block.rows:
        to.add(table(block.rows, to.y, to.width, {cell: MARKS[mark] for cell, mark in block.marks.items()}))
    to.text(block.caption, SMALL * 1.1, PALE)


def _metrics(to: Column, block: Metrics) -> None:
    to.add(glance(block.items, to.y, to.width))


def _bars(to: Column, block: Bars) -> None:
    to.add(class_rows(block.bars, to.y, to.width), 4)


def _paper(to: Column, block: Paper) -> None:
    marks, height = block.draw(to.inner)
    to.add(([moved(mark, MARGIN, to.y) for mark in marks], to.y + height), GAP)


def _matrix(to: Column, block: Matrix) -> None:
    _paper(to, Paper(block.matrix.marks))


def _proof(to: Column, block: Proof) -> None:
    """Only of one that failed: its sentence has to stand beside the pictures."""
    to.text(
        (block.trace is not None and block.trace.check.failure) or ("" if block.holds else block.words),
        TEXT,
        CLASSES[5],
    )


def _canvas(to: Column, block: Canvas) -> None:
    to.draw(block.still)


def _columns(to: Column, block: Columns) -> None:
    """Beside one another, as many as there is room for."""
    parts = [settled(part) for part in block.parts]
    least = [max((_least(inner, to.width, len(parts)) for inner in flat(part)), default=0.0) for part in parts]
    shares_of = block.widths or (1.0,) * len(parts)
    wide = [(to.inner + GAP) * share / sum(shares_of) - GAP for share in shares_of]
    beside = len(parts)
    while beside > 1 and any(width < needed for width, needed in zip(wide, least, strict=True)):
        beside -= 1
        wide = [(to.inner + GAP) / beside - GAP] * len(parts)
    for start in range(0, len(parts), max(1, beside)):
        left, lowest = 0.0, to.y
        for width, part in list(zip(wide, parts, strict=True))[start : start + beside]:
            column = Column(to.of, to.opacities, width + 2 * MARGIN)
            column.draw(part)
            to.marks += [moved(mark, left, to.y) for mark in column.marks]
            left, lowest = left + width + GAP, max(lowest, to.y + column.y)
        to.y = lowest


def _least(block: Block, width: float, beside: int) -> float:
    """How wide a block has to be: cells so that their names can be read, where the sheet has room for them."""
    named = widest(panel_of(block.figure)) if isinstance(block, Chart) and not block.still else 0.0
    drawn = (block, *getattr(block, "still", ()))
    named = max([named, *(each.matrix.least + 2 * MARGIN for each in drawn if isinstance(each, Matrix))])
    least = LEAST[Chart] if isinstance(block, Map) and beside > MOST_LARGE else LEAST.get(type(block), NARROWEST)
    return max(least, named if named <= width else 0.0)


def _nothing(to: Column, block: Block) -> None:
    """Not on paper."""


DRAWN: dict[type, Callable[[Column, Any], None]] = {
    Heading: _heading,
    Line: _line,
    Hint: _nothing,
    Said: _said,
    Code: _code,
    Map: _map,
    Tiles: _tiles,
    Grid: _grid,
    Picture: _picture,
    Chart: _chart,
    Bars: _bars,
    Table: _table,
    Metrics: _metrics,
    Matrix: _matrix,
    Paper: _paper,
    Canvas: _canvas,
    Columns: _columns,
    Proof: _proof,
    **dict.fromkeys((Answered, Formula, Folded, Link, ToReport, Process, Numbers, Download), _nothing),
}
