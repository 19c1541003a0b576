"""Numbers with their names: as a list with bars, as bars of classes, at a glance, and as a table. Text wraps, and
only names of classes are cut off."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from vizkit.figure.class_bars import ClassBars, distinct
from vizkit.figure.palette import OTHERS
from vizkit.figure.saved.lying_bars import flat
from vizkit.figure.saved.plate import INK, PALE, Drawn, Mark, Raster, Stroke, Words, clean, fitting, font, wrapped
from vizkit.figure.saved.single import MARGIN, SMALL, TEXT, WIDTH
from vizkit.figure.scales import number_words

BAR, GAP = 14.0, 8.0
GLANCE, LARGE = 100.0, 16.0  # the least width of a number at a glance, and its size
PALEST, RULE = "#e4e2f7", "#d9dbe6"
MOST_LINES = 60  # of a cell


def shares(items: Sequence[tuple[str, int | float | str]], y: float, sheet: float = WIDTH) -> Drawn:
    """(a line for each: its name, its share as a bar and as a number, or a text of its own; where they end)."""
    inner = sheet - 2 * MARGIN
    marks: list[Mark] = []
    for name, value in items:
        number = isinstance(value, float | int)
        words = number_words(float(value), "%") if number else clean(str(value))
        lines = wrapped(name, TEXT, inner - font(TEXT).getlength(words) - 20, MOST_LINES) or [""]
        tall = BAR + (len(lines) - 1) * TEXT * 1.25
        if number and value > 0:
            marks.append(Raster(flat(PALEST), MARGIN, y, min(float(value), 1.0) * inner, tall))
        marks += [Words(line, MARGIN + 4, y + BAR - 3.5 + at * TEXT * 1.25, TEXT) for at, line in enumerate(lines)]
        marks.append(Words(words, MARGIN + inner - 4, y + BAR - 3.5, TEXT, INK, "end"))
        y += tall + 2
    return marks, y


def class_rows(bars: ClassBars, y: float, sheet: float = WIDTH) -> Drawn:
    """(the bars as a page draws them: above each its name and number, a stroke where it stood before; where they
    end)."""
    inner, axis, above = sheet - 2 * MARGIN, bars.axis, TEXT * 1.2
    marks: list[Mark] = []

    def at(percent: float) -> float:
        return MARGIN + inner * percent / 100

    for index, (name, value) in enumerate(zip(distinct(bars.names), bars.values, strict=True)):
        start, end = map(at, axis.span(value))
        number = axis.number(value)
        room = inner - font(SMALL).getlength(number) - 6
        marks += [
            Words(fitting(name, SMALL, room), MARGIN, y + above - 2, SMALL),
            Words(number, MARGIN + inner, y + above - 2, SMALL, INK, "end"),
        ]
        y += above
        if end > start:
            marks.append(Raster(flat(bars.colours[index]), start, y, end - start, BAR / 2))
        if bars.before is not None:
            tick = at(axis.place(bars.before[index]))
            marks.append(Stroke(((tick, y - 1.5), (tick, y + BAR / 2 + 1.5)), OTHERS, 1.6))
        y += BAR / 2 + 2
    for value, words in axis.marks().items():
        where = axis.place(value)
        marks.append(Words(words, at(where), y + SMALL, SMALL, PALE, ("start", "middle", "end")[round(where / 50)]))
    y += SMALL * 1.3
    if bars.title:
        y += SMALL * 1.3
        marks.append(Words(bars.title, at(50.0), y, SMALL, PALE, "middle"))
    return marks, y + 4


def glance(items: Sequence[tuple[str, str, str]], y: float, sheet: float = WIDTH) -> Drawn:
    """((what, number, more) of each as large numbers beside one another; where they end)."""
    beside = max(1, min(len(items), int((sheet - 2 * MARGIN) // GLANCE)))
    wide = (sheet - 2 * MARGIN) / beside
    marks: list[Mark] = []
    for start in range(0, len(items), beside):
        row = items[start : start + beside]
        above = max(len(wrapped(what, SMALL, wide - GAP, MOST_LINES)) for what, _, _ in row)
        lowest = y
        for place, (what, number, more) in enumerate(row):
            x, at = MARGIN + place * wide, y
            for text, size, ink in ((what, SMALL, PALE), (number, LARGE, INK), (more, SMALL, PALE)):
                at = y + above * SMALL * 1.3 if text is number else at  # all numbers on one line
                for line in wrapped(text, size, wide - GAP, MOST_LINES):
                    at += size * 1.3
                    marks.append(Words(line, x, at - 0.2 * size, size, ink))
            lowest = max(lowest, at)
        y = lowest + GAP
    return marks, y


def table(
    rows: Sequence[Mapping[str, str | int | float | None]],
    y: float,
    sheet: float = WIDTH,
    inks: Mapping[tuple[int, str], str] = MappingProxyType({}),
) -> Drawn:
    """(rows below the names of their columns, each column as wide as it needs where there is room; where they end).
    `inks`: the ground of cells, by the number of their row and the name of their column."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[clean(name) for name in names], *([_cell(row.get(name)) for name in names] for row in rows)]
    wide = _widths(
        [max(font(SMALL).getlength(row[at]) for row in cells) + GAP for at in range(len(names))], sheet - 2 * MARGIN
    )
    marks: list[Mark] = []
    for number, row in enumerate(cells):
        x, lowest = MARGIN, y
        for name, text, width in zip(names, row, wide, strict=True):
            at = y
            if ink := inks.get((number - 1, name)):
                pale = (255 - 0.36 * (255 - flat(ink))).astype("uint8")
                marks.append(Raster(pale, x - 3, y + 2, width - 4, SMALL * 1.5))
            for line in wrapped(text, SMALL, width - GAP / 2, MOST_LINES):
                at += SMALL * 1.35
                marks.append(Words(line, x, at, SMALL, INK if number else PALE))
            x, lowest = x + width, max(lowest, at)
        y = lowest + 3
        marks.append(Stroke(((MARGIN, y), (sheet - MARGIN, y)), PALE if number == 0 else RULE, 0.6))
    return marks, y + GAP


def _cell(value: str | int | float | None) -> str:
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    return "–" if value is None else clean(str(value))


def _widths(wanted: Sequence[float], room: float) -> list[float]:
    """What every column gets: what it wants, and all the same of what is over; where there is too little, the widest
    ones are cut to one width."""
    spare = room - sum(wanted)
    if spare >= 0:
        return [each + spare / len(wanted) for each in wanted]
    left, widest = room, room
    for done, each in enumerate(sorted(wanted)):
        widest = left / (len(wanted) - done)
        if each > widest:
            break
        left -= each
    return [min(each, widest) for each in wanted]
