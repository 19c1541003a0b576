"""What a chart shows, as plain values; it is read off the figure that a page draws."""

from dataclasses import dataclass
from html import unescape
from typing import Any, Literal

import numpy as np

from vizkit.figure.charts import Figure
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.image import Box

DIGITS = 6
INKS = (*CLASSES, OTHERS)
Dash = Literal["solid", "dash", "dot"]
Numbers = tuple[float | None, ...]


@dataclass(frozen=True)
class Line:
    """`colour`: which one of INKS. A number that is not there is None. `words`: written at its places, which are
    dots then and not joined, "" for a dot alone. `ends`: of the interval around each length of a bar. `wide`: of bars
    that stand on the axis, each from its place on, and `shades` how strong each is, 0 to 1."""

    name: str
    x: Numbers
    y: Numbers
    colour: int = 0
    dash: Dash = "solid"
    words: tuple[str, ...] = ()
    ends: tuple[tuple[float, float], ...] = ()
    wide: float = 0.0
    shades: tuple[float, ...] = ()


@dataclass(frozen=True)
class Panel:
    """Lines or a heat map (`cells`, row 0 on top, coloured from `low` up to `limit`, the largest where that is 0, with
    lines over it, in cells from the middle of the first). `x`
    and `y`: what the axes are; `log`: y is logarithmic, `log_x`: x. `span_y`: its ends, powers of ten then. `boxes`:
    frames (x0, y0, x1, y1) on the axes, rules where x0 = x1. `rows` and `columns`: names of the cells; `digits` after
    the point are written in cells that have room. Cells of a single row are drawn as a strip. `bars`: lines are kinds
    of bars, and their words name the bars. `numbered`: whether its axes have numbers; those of a t-SNE mean nothing.
    `equal`: an equal share, where cells are coloured by its doublings."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...] = ()
    cells: tuple[Numbers, ...] = ()
    limit: float = 0.0
    signed: bool = False
    log: bool = False
    span_y: tuple[float, float] | None = None
    boxes: tuple[Box, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    bars: bool = False
    log_x: bool = False
    digits: int | None = None
    numbered: bool = True
    low: float = 0.0
    equal: float | None = None


def panel_of(figure: Figure) -> Panel:
    """What is drawn in a figure of curves or cells, in few digits."""
    layout: Any = figure.layout
    drawn: list[Any] = [*figure.data]
    x, y, title = (unescape(part.title.text or "") for part in (layout.xaxis, layout.yaxis, layout))
    boxes = tuple(
        (float(box.x0), float(box.y0), float(box.x1), float(box.y1)) for box in layout.shapes if box.x0 is not None
    )
    if drawn and drawn[0].type == "scatter" and (names := layout.xaxis.categoryarray):  # which a shape counts from 0
        boxes = tuple(
            (float(names[int(left)]), low, float(names[int(right)]), high) for left, low, right, high in boxes
        )
    if drawn and drawn[0].type == "heatmap":
        equal, columns, lines = (drawn[0].meta or {}).get("equal"), drawn[0].x, ()
        cells = np.asarray(drawn[0].z if equal is None else drawn[0].customdata, float)
        if columns is not None and not isinstance(columns[0], str):
            x = f"{x}, from {columns[0]:.3g} to {columns[-1]:.3g}"
        rows = drawn[0].y
        if rows is not None and not isinstance(rows[0], str):
            y = f"{y}, from {rows[0]:.3g} to {rows[-1]:.3g}"
            over = [each for each in drawn[1:] if each.type == "scatter" and each.name and len(each.x)]
            lines = tuple(
                Line("", _few(_among(each.x, columns)), _few(_among(each.y, rows)), _colour(each, 0)) for each in over
            )
            sides = [(_among(box[::2], columns), _among(box[1::2], rows)) for box in boxes]
            boxes = tuple((min(across), min(down), max(across), max(down)) for across, down in sides)
        return Panel(
            title,
            x,
            y,
            lines,
            cells=tuple(map(_few, cells)),
            limit=float(drawn[0].zmax or 0),
            signed=drawn[0].zmin is not None and drawn[0].zmin == -drawn[0].zmax,
            low=float(drawn[0].zmin or 0),
            equal=equal,
            boxes=boxes,
            rows=_names(drawn[0].y),
            columns=_names(columns),
            digits=_digits(drawn[0].text if drawn[0].texttemplate else ()),
        )
    if drawn and drawn[0].type == "bar" and drawn[0].width is None:
        kinds = [each for each in drawn if each.type == "bar"]
        lying = kinds[0].orientation == "h"
        ends = (layout.xaxis if lying else layout.yaxis).range
        return Panel(
            title,
            *((y, x) if lying else (x, y)),
            tuple(map(_bars, kinds, range(len(kinds)))),
            bars=True,
            span_y=(float(ends[0]), float(ends[1])) if ends else None,
        )
    lines = tuple(
        _standing(line, index)
        if line.type == "bar"
        else Line(
            "" if line.showlegend is False else unescape(line.name or ""),
            _few(line.x),
            _few(line.y),
            _colour(line, index),
            line.line.dash or "solid",
            _words(line),
        )
        for index, line in enumerate(drawn)
        if line.type == "bar" or line.mode != "markers" or any(x is not None for x in line.x)
    )
    ends = layout.yaxis.range
    return Panel(
        title,
        x,
        y,
        lines,
        log=layout.yaxis.type == "log",
        log_x=layout.xaxis.type == "log",
        boxes=boxes,
        span_y=(float(ends[0]), float(ends[1])) if ends else None,
        numbered=layout.xaxis.showticklabels is not False,
    )


def _bars(drawn: Any, index: int) -> Line:
    """One kind of bars, counted from 1, with their names."""
    lying = drawn.orientation == "h"
    names, values = (drawn.y, drawn.x) if lying else (drawn.x, drawn.y)
    around, ends = drawn.error_x if lying else drawn.error_y, ()
    if around.array is not None:
        less = around.array if around.arrayminus is None else around.arrayminus
        given = zip(_few(values), _few(less), _few(around.array), strict=True)
        ends = tuple(((value or 0.0) - (low or 0.0), (value or 0.0) + (high or 0.0)) for value, low, high in given)
    places = tuple(map(float, range(1, len(values) + 1)))
    words = tuple(unescape(str(name)) for name in names)
    return Line(unescape(drawn.name or ""), places, _few(values), _colour(drawn, index), words=words, ends=ends)


def _standing(drawn: Any, index: int) -> Line:
    """Bars that stand on an axis of numbers, each from its place on, in their shades."""
    ink = drawn.marker.line.color
    shades = tuple(float(colour.rpartition(",")[2].rstrip(")")) for colour in drawn.marker.color)
    return Line(
        unescape(drawn.name or ""),
        _few(drawn.x),
        _few(drawn.y),
        INKS.index(ink) if ink in INKS else index,
        wide=float(np.ravel(drawn.width)[0]),
        shades=shades,
    )


def _words(line: Any) -> tuple[str, ...]:
    """Of dots that are not joined, "" for those without a name."""
    return _names(line.text) if "text" in (line.mode or "") else ("",) * len(line.x) * (line.mode == "markers")


def _digits(written: Any) -> int | None:
    """Of the numbers in cells, where any are written."""
    number = next((word for row in written for word in row if word), None)
    return None if number is None else len(number.partition(".")[2])


def _names(words: Any) -> tuple[str, ...]:
    """Of cells or places; none where they are numbers."""
    if words is None or not len(words) or not isinstance(words[0], str):
        return ()
    return tuple(unescape(str(word)) for word in words)


def _among(values: Any, places: Any) -> list[float]:
    """Where values lie on an axis of cells: in cells from the middle of the first one."""
    return ((np.asarray(values, float) - places[0]) / (places[1] - places[0])).tolist()


def _colour(line: Any, index: int) -> int:
    ink = (line.type != "bar" and line.line.color) or line.marker.color  # of dots a number for each
    ink = line.textfont.color if line.type != "bar" and line.mode == "text" else ink
    return INKS.index(ink) if isinstance(ink, str) and ink in INKS else index


def _few(values: Any) -> Numbers:
    return tuple(float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in np.asarray(values, float))
