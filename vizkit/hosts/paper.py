"""A view on paper: the blocks of the page in their order, a column for each model, as marks that PNG and SVG share."""

from collections.abc import Iterable, Sequence

import numpy as np

from vizkit.figure.palette import CEILING, FLOOR
from vizkit.figure.saved.plate import Plate, moved
from vizkit.figure.saved.single import TEXT, WIDTH, Captions, below, top_lines
from vizkit.hosts.column import GAP, Column
from vizkit.views.blocks import Block, Numbers
from vizkit.views.settled import flat, settled
from vizkit.views.subject import Subject
from vizkit.views.view import View

__all__ = ["Shown", "numbers", "plate", "sheet", "shown"]

Draw = tuple[float, float]
Shown = Sequence[tuple[Sequence[Subject], Sequence[Block]]]
"""The blocks of every column, and of whom they are."""


def plate(view: View, of: Sequence[Subject], captions: Captions, opacities: Draw = (FLOOR, CEILING)) -> Plate:
    """The sheet of a view: every subject in a column under its name, two in a row; those of a view that shows all at
    once in a single one. Raises NotApplicable where there is nothing to draw."""
    return sheet(shown(view, of), captions, opacities, width_of(view))


def width_of(view: View) -> float:
    """Of a column: a slide lies, so that its picture and its numbers stand beside one another."""
    return 2 * WIDTH if view.slides else WIDTH


def shown(view: View, of: Sequence[Subject]) -> Shown:
    """What a view shows of every subject by itself, or of all at once; what takes time is computed now."""
    if view.together:
        return [(of, settled(view.show(of)))]
    return [([each], settled(view.show(each))) for each in of]


def sheet(columns: Shown, captions: Captions, opacities: Draw = (FLOOR, CEILING), width: float = WIDTH) -> Plate:
    """The blocks on paper: columns so wide, two in a row."""
    beside = max(1, min(2, len(columns)))
    marks, top = top_lines(captions, beside * width)
    for start in range(0, len(columns), beside):
        lowest = top
        for place, (of, blocks) in enumerate(columns[start : start + beside]):
            column = Column(of, opacities, width)
            if len(columns) > 1:
                column.text(of[0].name, TEXT * 1.3)
            column.draw(blocks)
            marks += [moved(mark, place * width, top) for mark in column.marks]
            lowest = max(lowest, top + column.y)
        top = lowest + GAP
    return below(marks, captions, beside * width, top)


def numbers(*columns: Iterable[Block]) -> dict[str, np.ndarray]:
    """What all Numbers of a view hold together; of several columns with "_1", "_2" after their names."""
    return {
        name if len(columns) == 1 else f"{name}_{index}": array
        for index, blocks in enumerate(columns, 1)
        for block in flat(blocks)
        if isinstance(block, Numbers)
        for name, array in block.arrays().items()
    }
