"""A view on a stage: its figure and its sentence alone, for a lesson, a slide or a telephone."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Bars,
    Block,
    Blocks,
    Canvas,
    Chart,
    Columns,
    Grid,
    Heading,
    Later,
    Line,
    Map,
    Matrix,
    Part,
    Picture,
    Said,
    Table,
    Tiles,
)

FIGURES = (Map, Tiles, Grid, Picture, Chart, Bars, Matrix, Canvas)


def staged(blocks: Iterable[Block], leads: Callable[[Block], bool]) -> Blocks:
    """The first sentence, and below it the first figure that `leads`, under the line that says what it is of: nothing
    to choose, to open, to copy or to look up. Where there is no figure the first table; what takes time stays so."""
    said, caption, figure, table = None, None, None, None
    for block in _inner(blocks):
        if isinstance(block, Later):
            later = replace(block, button="", show=partial(_later, block.show, leads))
            said, figure = said or Said(""), figure or later
        elif isinstance(block, Said):
            said = said if said and said.text else block
        elif isinstance(block, Table):
            table = table or block
        elif figure is None and isinstance(block, FIGURES) and leads(block):
            figure = _unanswered(block)
        elif figure is None and isinstance(block, Heading | Line):
            caption = block
            continue
        if figure is None:
            caption = None
        if figure is not None and (isinstance(figure, Map | Later) or (said and said.text)):
            break
    said = None if isinstance(figure, Map) and figure.said else said
    found = (said, caption, figure) if figure else (said, table)
    yield from (block for block in found if block is not None)


def _inner(blocks: Iterable[Block]) -> Iterator[Block]:
    """In the order of reading, with those inside of others; of a part without meaning its sentence."""
    for block in blocks:
        if isinstance(block, Columns):
            for part in block.parts:
                yield from _inner(part)
        elif isinstance(block, Part):
            try:
                yield from _inner(block.make())
            except NotApplicable as sentence:
                yield Line(str(sentence))
        else:
            yield block


def _later(show: Callable[[Mapping[Any, Any]], Iterable[Block]], leads: Callable[[Block], bool], done: Any) -> Blocks:
    return staged(show(done), leads)


def _unanswered(block: Any) -> Block:
    """The same, where a click sets nothing but the cursor."""
    if isinstance(block, Canvas):
        data = block.data | {"hint": ""} if "hint" in block.data else block.data
        return replace(block, data=data, tells={}, picks="", picture=None)
    if isinstance(block, Chart):
        return replace(block, picks="", hint="")
    if isinstance(block, Map):
        return replace(block, picks="", guide="")
    return replace(block, picks="") if isinstance(block, Tiles | Grid) else block
