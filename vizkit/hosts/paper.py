"""A view on paper: the blocks of the page in their order, a column for each model, as marks that PNG and SVG share."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from vizkit.figure.palette import CEILING, FLOOR
from vizkit.figure.saved.plate import Mark, Plate, moved
from vizkit.figure.saved.single import MARGIN, TEXT, WIDTH, Captions, below, top_lines
from vizkit.hosts.column import GAP, Column
from vizkit.hosts.layout import WHOLE, Layout
from vizkit.hosts.layout import Columns as Shown
from vizkit.views import content
from vizkit.views.blocks import Block, Heading, Metrics, Numbers, Table
from vizkit.views.settled import flat, settled
from vizkit.views.subject import Subject
from vizkit.views.view import View

SHORT = 50.0  # of words that stay with what follows

Draw = tuple[float, float]


def plate(
    view: View,
    of: Sequence[Subject],
    captions: Captions,
    opacities: Draw = (FLOOR, CEILING),
    layout: Layout = WHOLE,
) -> Plate:
    """The sheet of a view: every subject in a column under its name, two in a row; those of a view that shows all at
    once in a single one. Raises NotApplicable where there is nothing to draw, ControlError for small maps that are not
    there."""
    return sheet(shown(view, of), captions, opacities, width_of(view), layout)


def width_of(view: View) -> float:
    """Of a column: a slide lies, so that its picture and its numbers stand beside one another."""
    return 2 * WIDTH if view.slides else WIDTH


def shown(view: View, of: Sequence[Subject]) -> Shown:
    """What a view shows of every subject by itself, or of all at once; what takes time is computed now."""
    if view.together:
        return [(of, settled(content(view, of)))]
    return [([each], settled(content(view, each))) for each in of]


def sheet(
    columns: Shown,
    captions: Captions,
    opacities: Draw = (FLOOR, CEILING),
    width: float = WIDTH,
    layout: Layout = WHOLE,
) -> Plate:
    """The blocks on paper: columns at least so wide, two in a row. A figure of chosen maps has no title and no origin,
    which are in its file all the same."""
    several = len(columns) > 1
    columns = layout.chosen(columns)
    beside = max(1, min(2, len(columns)))
    width = layout.width(width, columns, beside)
    if layout.only:
        captions = replace(captions, title=layout.titled(captions.title), lines=(), footer=())
    marks, top = ([], MARGIN) if layout.only else top_lines(captions, beside * width)
    for start in range(0, len(columns), beside):
        lowest = top
        for place, (of, blocks) in enumerate(columns[start : start + beside]):
            column = Column(of, opacities, width, full=bool(layout.only))
            if several:
                column.text(of[0].name, TEXT * 1.3)
            column.draw(blocks)
            marks += [moved(mark, place * width, top) for mark in column.marks]
            lowest = max(lowest, top + column.y)
        top = lowest + GAP
    return layout.printed(below(marks, captions, beside * width, top))


def lying(columns: Shown, captions: Captions, opacities: Draw = (FLOOR, CEILING), shape: float = 16 / 9) -> Plate:
    """The same blocks in columns, as text in a newspaper, so that they are largest on a slide of this width for a
    height."""
    pieces: list[tuple[list[Mark], float]] = []
    for of, blocks in columns:
        column = Column(of, opacities)
        if len(columns) > 1:
            column.text(of[0].name, TEXT * 1.3)
        for block in blocks:
            column.draw([block])
            if not isinstance(block, Heading) and column.y > SHORT:  # a title stays with what it is over
                pieces.append((column.marks, column.y + GAP))
                column = Column(of, opacities)
        pieces.append((column.marks, column.y))
    heights = [height for _, height in pieces]
    limits = {sum(heights[at:end]) for at in range(len(heights)) for end in range(at, len(heights) + 1)}
    filled = (_filled(pieces, limit) for limit in limits if limit >= max(heights))
    sheets = {len(each): each for each in sorted(filled, key=_longest, reverse=True)}.values()  # the shortest of each

    def size(parts: Sequence[Sequence[tuple[list[Mark], float]]]) -> float:
        top = top_lines(captions, len(parts) * WIDTH)[1]
        return min(shape / (len(parts) * WIDTH), 1 / (top + _longest(parts) + GAP))

    best = max(sheets, key=size)
    marks, top = top_lines(captions, len(best) * WIDTH)
    for place, part in enumerate(best):
        y = top
        for drawn, height in part:
            marks += [moved(mark, place * WIDTH, y) for mark in drawn]
            y += height
    return below(marks, captions, len(best) * WIDTH, top + _longest(best))


def _filled(pieces: Sequence[tuple[list[Mark], float]], limit: float) -> list[list[tuple[list[Mark], float]]]:
    """In columns that are no longer than the limit."""
    parts, y = [[]], 0.0
    for piece in pieces:
        if y + piece[1] > limit:
            parts.append([])
            y = 0.0
        parts[-1].append(piece)
        y += piece[1]
    return parts


def _longest(parts: Sequence[Sequence[tuple[list[Mark], float]]]) -> float:
    return max(sum(height for _, height in part) for part in parts)


def saved(columns: Shown, layout: Layout) -> dict[str, np.ndarray]:
    """What is in a file of numbers: of a figure of chosen maps these, with what was measured of all that is no map."""
    whole = numbers(*(blocks for _, blocks in columns))
    measured = {name: array for name, array in whole.items() if array.ndim < 2}
    return measured | layout.numbers(columns) if layout.only else whole


def numbers(*columns: Iterable[Block]) -> dict[str, np.ndarray]:
    """What all Numbers of a view hold together, and its tables as they are read, "table1" and so on, the names of their
    columns first; of several columns with "_1", "_2" after their names."""
    return {
        name if len(columns) == 1 else f"{name}_{index}": array
        for index, blocks in enumerate(columns, 1)
        for name, array in _arrays(flat(blocks)).items()
    }


def _arrays(blocks: Sequence[Block]) -> dict[str, np.ndarray]:
    own = {name: array for block in blocks if isinstance(block, Numbers) for name, array in block.arrays().items()}
    tables = filter(None, map(_texts, blocks))
    return own | {f"table{count}": np.array(rows) for count, rows in enumerate(tables, 1)}


def _texts(block: Block) -> list[list[str]]:
    """As they are read; none of a block that is no table."""
    if isinstance(block, Metrics):
        return [
            [str(cell) for cell in row]
            for row in zip(*((what, number) for what, number, _ in block.items), strict=True)
        ]
    if not isinstance(block, Table) or not block.rows:
        return []
    return [[*block.rows[0]], *(["" if cell is None else str(cell) for cell in row.values()] for row in block.rows)]
