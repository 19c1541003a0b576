"""Charts on a plate: lines with their axes, heat maps."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from vizkit.figure.palette import CLASSES, OTHERS, colours
from vizkit.figure.saved.lying_bars import bar_marks, flat, legend
from vizkit.figure.saved.panel import INKS, Line, Numbers, Panel, panel_of
from vizkit.figure.saved.plate import (
    INK,
    PALE,
    Drawn,
    Mark,
    Outline,
    Raster,
    Stroke,
    Words,
    clean,
    fitting,
    font,
    wrapped,
)
from vizkit.figure.saved.single import MARGIN, SMALL, TEXT, WIDTH, map_bar
from vizkit.figure.scales import SHARES, between
from vizkit.geometry import Box

__all__ = ["Line", "Numbers", "Panel", "chart_marks", "meet", "panel_of"]

HEIGHT, AXIS = 190.0, 46.0  # of a chart, and the room for the numbers at its left
TALLEST = 0.8  # of its width
STRIP, ROWS = 13.0, 74.0  # of cells of a single row, and the room for the names of rows
FRAME = CLASSES[1]
WHITE, HALF = "#ffffff", 127  # ink of a dark cell
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def chart_marks(panel: Panel, y: float, sheet: float = WIDTH) -> Drawn:
    """(a chart with its title, from `y` down on a sheet that is so wide; where it ends)."""
    marks: list[Mark] = []
    for line in wrapped(panel.title, TEXT, sheet - 2 * MARGIN, 12):
        y += TEXT * 1.2
        marks.append(Words(line, MARGIN, y, TEXT))
    drawn, y = (bar_marks if panel.bars else _cells if panel.cells else _lines)(panel, y + 6, sheet)
    return [*marks, *drawn], y


def _lines(panel: Panel, y: float, sheet: float) -> Drawn:
    marks: list[Mark] = []
    x0, width = MARGIN + AXIS, sheet - 2 * MARGIN - AXIS
    tall = min(HEIGHT, TALLEST * width)
    low, high = _ends([_level(value, panel.log_x) for line in panel.lines for value in line.x])
    high = max([high, *(line.x[-1] + line.wide for line in panel.lines if line.wide and line.x[-1] is not None)])
    bottom, top = _ends(panel.span_y or [_level(value, panel.log) for line in panel.lines for value in line.y])
    if any(line.words for line in panel.lines):  # room for what is written at the outermost places
        low, high = low - 0.06 * (high - low), high + 0.06 * (high - low)
        bottom, top = bottom - 0.05 * (top - bottom), top + 0.08 * (top - bottom)

    def at(value: float | None, level: float | None) -> tuple[float, float] | None:
        x = _level(value, panel.log_x)
        if x is None or level is None:
            return None
        inside = min(max(level, bottom), top)
        return x0 + (x - low) / (high - low) * width, y + (top - inside) / (top - bottom) * tall

    for value in _ticks(bottom, top, whole=panel.log) if panel.numbered else ():
        height = y + (top - value) / (top - bottom) * tall
        words = _tick(value, panel.log)
        marks.append(Stroke(((x0, height), (x0 + width, height)), "#d9dbe6", 0.6))
        marks.append(Words(words, x0 - 4, height + SMALL / 3, SMALL, PALE, "end"))
    for value in _ticks(low, high, whole=panel.log_x) if panel.numbered else ():
        place = x0 + (value - low) / (high - low) * width
        marks.append(Words(_tick(value, panel.log_x), place, y + tall + SMALL + 2, SMALL, PALE, "middle"))
    for begin, _, end, _ in panel.boxes:
        left = _level(begin, panel.log_x)
        if begin == end and left is not None and low <= left <= high:
            place = x0 + (left - low) / (high - low) * width
            marks.append(Stroke(((place, y), (place, y + tall)), OTHERS, 1.0, "dot"))
    written: list[Box] = []
    for line in panel.lines:
        places = [at(x, _level(value, panel.log)) for x, value in zip(line.x, line.y, strict=True)]
        ink = INKS[line.colour % len(INKS)]
        if line.wide:
            marks += _standing(line, places, line.wide / (high - low) * width, y + tall)
            continue
        if not line.words:
            marks += [Stroke(part, ink, 1.6, line.dash) for part in _whole(places)]
            continue
        for place, word in zip(places, line.words, strict=True):
            if place is not None:
                marks.append(Stroke((place,), ink, 4.0))
                half = font(SMALL).getlength(word) / 2
                box = place[0] - half, place[1] - 4 - SMALL, place[0] + half, place[1] - 4
                if word and not any(meet(box, other) for other in written):  # a dot says more than two words in one
                    written.append(box)
                    marks.append(Words(word, place[0], place[1] - 4, SMALL, INK, "middle"))
    return _named(panel, marks, y + tall + SMALL + 4, sheet)


def _standing(line: Line, places: Sequence[tuple[float, float] | None], wide: float, ground: float) -> Iterator[Mark]:
    """Bars on the ground, in their shades; what has no height is not there."""
    ink = INKS[line.colour % len(INKS)]
    for place, shade in zip(places, line.shades, strict=True):
        if place is not None and ground - place[1] > 0.25:
            frame = *place, wide, ground - place[1]
            yield Raster((255 - shade * (255 - flat(ink))).astype(np.uint8), *frame)
            yield Outline(*frame, ink, 0.8)


def widest(panel: Panel) -> float:
    """How wide a sheet has to be so that no name of a column is cut; 0 without names."""
    names = [font(SMALL).getlength(clean(name)) + 4 for name in panel.columns]
    return 2 * MARGIN + ROWS + len(names) * max(names) if names else 0.0


def meet(one: Box, other: Box) -> bool:
    """Whether two boxes (x0, y0, x1, y1) lie over one another."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _cells(panel: Panel, y: float, sheet: float) -> Drawn:
    marks: list[Mark] = []
    values = np.nan_to_num(np.array(panel.cells, float))
    limit = abs(panel.limit) or float(np.abs(values).max()) or 1.0
    scale = between(-limit if panel.signed else panel.low, limit, signed=panel.signed)
    scale = scale if panel.equal is None else replace(SHARES, equal=panel.equal)
    count, single = values.shape[1], len(values) == 1
    left = MARGIN + (ROWS if panel.rows and not single else 0)
    width = sheet - MARGIN - left
    height = STRIP if single else max(HEIGHT, SMALL * 1.25 * len(panel.rows))
    top = y
    painted = colours(scale.palette)[scale.levels(values)]
    marks.append(Raster(painted, left, y, width, height))
    across, down = width / count, height / len(values)
    written = {
        cell: f"{value:.{panel.digits}f}".replace("-", "−")
        for cell, value in np.ndenumerate(np.array(panel.cells, float))
        if panel.digits is not None and np.isfinite(value)
    }
    if across > max((font(SMALL).getlength(words) + 2 for words in written.values()), default=0.0):
        marks += [
            Words(
                words,
                left + (column + 0.5) * across,
                y + (row + 0.5) * down + SMALL / 3,
                SMALL,
                INK if painted[row, column].mean() > HALF else WHITE,
                "middle",
            )
            for (row, column), words in written.items()
        ]
    marks += [
        Outline(left + (x0 + 0.5) * across, y + (y0 + 0.5) * down, (x1 - x0) * across, (y1 - y0) * down, FRAME, 2.0)
        for x0, y0, x1, y1 in panel.boxes
        if x0 < x1 and y0 < y1
    ]
    for line in panel.lines:
        places = np.array([line.x, line.y], float).T
        inside = (np.array([left, y]) + (places + 0.5) * [across, down]).tolist()
        path = tuple((right, below) for right, below in inside)
        marks += [Stroke(path, INK, 3.6), Stroke(path, WHITE, 1.6)]  # seen on dark cells and on bright ones
    if not single:
        marks += [
            Words(fitting(name, SMALL, ROWS - 4), left - 4, y + (at + 0.5) * down + SMALL / 3, SMALL, INK, "end")
            for at, name in enumerate(panel.rows)
        ]
    y += height
    if panel.columns and across > 2 * SMALL:
        y += SMALL + 2
        marks += [
            Words(fitting(name, SMALL, across - 2), left + (at + 0.5) * across, y, SMALL, INK, "middle")
            for at, name in enumerate(panel.columns)
        ]
    if single:
        said = f"from {scale.ticks[0][1]} to {scale.ticks[-1][1]}"
        return [*marks, Words(said, sheet - MARGIN, top - 4, SMALL, PALE, "end")], y
    words = f"{panel.y}, downwards; {panel.x}, to the right" if panel.y else panel.x
    made, y = map_bar(y + 5, sheet - 2 * MARGIN, scale, words)
    return [*marks, *made], y


def _named(panel: Panel, marks: list[Mark], y: float, sheet: float) -> Drawn:
    """The axes, and below them the lines with their names."""
    y += TEXT * 1.2
    marks.append(Words(f"{panel.y} against {panel.x}" if panel.x else panel.y, MARGIN + AXIS, y, SMALL, INK))
    unnamed = [line for line in panel.lines if not line.words]  # dots need no sample of their line
    named, y = legend([line for line in panel.lines if line.name] or unnamed, y, sheet)
    return [*marks, *named], y + 6


def _tick(value: int | float, log: bool) -> str:
    return f"10{f'{value:g}'.translate(RAISED)}" if log else f"{value:g}".replace("-", "−")


def _level(value: int | float | None, log: bool) -> float | None:
    if value is None or (log and value <= 0):
        return None
    return float(np.log10(value)) if log else value


def _ends(values: Sequence[float | None]) -> tuple[float, float]:
    """The smallest and the largest, apart from one another."""
    there = [value for value in values if value is not None] or [0.0]
    low, high = min(there), max(there)
    apart = high - low > 1e-9 * max(abs(low), abs(high))
    return (low, high) if apart else (low - 0.5 - abs(low), high + 0.5 + abs(high))


def _ticks(low: float, high: float, *, whole: bool = False) -> Iterator[float]:
    """Round numbers, at most seven."""
    step = 10.0 ** np.floor(np.log10((high - low) / 5))
    step = float(next(size * step for size in (1, 2, 5, 10) if (high - low) / (size * step) <= 6))
    step = max(1.0, round(step)) if whole else step
    for number in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1):
        yield number * step


def _whole(places: Sequence[tuple[float, float] | None]) -> Iterator[tuple[tuple[float, float], ...]]:
    """The parts of a line between numbers that are not there."""
    part: list[tuple[float, float]] = []
    for place in [*places, None]:
        if place is not None:
            part.append(place)
        elif part:
            yield tuple(part)
            part = []
