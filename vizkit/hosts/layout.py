"""How a figure stands on paper: how wide it is, and which of its small maps are on it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vizkit.figure.saved.plate import Plate, printed
from vizkit.figure.saved.single import SMALL
from vizkit.figure.saved.small_maps import width_of_table
from vizkit.views.blocks import Block, Canvas, Chart, Grid, Heading, Tiles
from vizkit.views.controls import ControlError
from vizkit.views.settled import flat
from vizkit.views.subject import Subject

LEAST_MM, MOST_MM = 60, 420
LEAST_PT, MOST_PT = 7.0, 9.0  # of text in print, as journals ask for
POINTS = 72 / 25.4  # a millimetre

Columns = Sequence[tuple[Sequence[Subject], Sequence[Block]]]
"""The blocks of every column, and of whom they are."""


@dataclass(frozen=True)
class Layout:
    """`width_mm`: of the whole figure, whose text then has 7 to 9 points; None for as wide as it needs. `only`: of
    small maps, or of their rows and columns, those that are called so on paper or begin with these words: layers,
    heads, methods, models. The figure is then these maps alone, in the arrangement of the page."""

    width_mm: float | int | None = None
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.width_mm is not None and not LEAST_MM <= self.width_mm <= MOST_MM:
            raise ControlError(f"The width of a figure is from {LEAST_MM} to {MOST_MM} mm, not {self.width_mm:g}.")

    def chosen(self, columns: Columns) -> Columns:
        """These small maps alone, under the name of their model where there are several; without a choice all blocks.
        Raises ControlError for a name that none of them has."""
        if not self.only:
            return columns
        names = [name for _, blocks in columns for maps in small_maps(blocks) for side in sides(maps) for name in side]
        for each in self.only:
            if not any(_called(name, each) for name in names):
                there = f"there are {', '.join(dict.fromkeys(filter(None, names)))}" if names else "it has none"
                raise ControlError(f"No small map of this figure is called {each[:60]!r}; {there}.")
        kept = ((of, [*self._figure(of, blocks)]) for of, blocks in columns)
        return [(of, blocks) for of, blocks in kept if blocks]

    def numbers(self, columns: Columns) -> dict[str, np.ndarray]:
        """The chosen maps alone, called "layer 3, head 2", of several models with "_1", "_2" after it."""
        chosen = self.chosen(columns)
        return {
            f"{name}_{at}" if len(chosen) > 1 else name: values
            for at, (_, blocks) in enumerate(chosen, 1)
            for maps in blocks
            if isinstance(maps, Tiles | Grid)
            for name, values in zip(_cells(maps), maps_of(maps), strict=True)
        }

    @property
    def meta(self) -> dict[str, object]:
        """What was chosen, for the file of its numbers; nothing of a figure as the page has it."""
        asked = {"only": list(self.only), "width_mm": self.width_mm}
        return {"figure": {name: value for name, value in asked.items() if value}} if self != WHOLE else {}

    def titled(self, title: str) -> str:
        """What a view shows, without the map that was large: it is not on the figure."""
        return f"{title.partition(':')[0]}: {', '.join(self.only)}"

    def width(self, usual: float, columns: Columns, beside: int) -> float:
        """In points of the layout, of each column."""
        if self.width_mm is not None:
            return self.width_mm * POINTS * SMALL / LEAST_PT / beside
        tables = (sides(maps) for _, blocks in columns for maps in small_maps(blocks) if maps.columns)
        return max((usual, *(width_of_table(len(across), down) for across, down in tables)))

    def printed(self, plate: Plate) -> Plate:
        """The sheet as wide as it is asked for, its smallest text with 7 points."""
        return plate if self.width_mm is None else printed(plate, LEAST_PT / SMALL, (LEAST_PT, MOST_PT))

    def _figure(self, of: Sequence[Subject], blocks: Sequence[Block]) -> Iterator[Block]:
        for maps in small_maps(blocks):
            across, down = map(self._places, sides(maps))
            if not (across and down) or not self._asked(maps):
                continue
            if isinstance(maps, Tiles) and maps.of is not None and len(of) > 1:
                yield Heading(maps.of.name)
            yield _kept(maps, across, down)

    def _asked(self, maps: Tiles | Grid) -> bool:
        return any(_called(name, each) for side in sides(maps) for name in side for each in self.only)

    def _places(self, names: Sequence[str]) -> list[int]:
        """Of those that are asked for, in that order; where no name of their kind is, of all, and of one for maps in
        no table."""
        found = [at for each in self.only for at, name in enumerate(names) if _called(name, each)]
        asked = [*dict.fromkeys(found)]
        among = {_kind(name) for name in names} & {_kind(each) for each in self.only} - {""}
        return asked if asked or among else list(range(len(names))) or [0]


WHOLE = Layout()
"""As wide as it needs, with all that is there."""


def named(
    layers: Iterable[int] = (), heads: Iterable[int] = (), methods: Iterable[str] = (), only: Iterable[str] = ()
) -> tuple[str, ...]:
    """What a figure has `only`: layers and heads from 1, methods by their names in `METHODS`, and others as they are
    called on it. Raises ControlError for a method that does not exist."""
    from vizkit.analysis.attribution.methods import METHODS

    titles = {name: method.title for name, method in METHODS.items()}
    asked = [titles.get(name.replace("-", "_"), name) for name in methods]
    if strange := next((name for name in asked if name not in titles.values()), None):
        raise ControlError(f"There is no method {strange[:60]!r}; there are {', '.join(titles)}.")
    numbers = *(f"layer {layer}" for layer in layers), *(f"head {head}" for head in heads)
    return (*numbers, *asked, *only)


def choices(blocks: Iterable[Block]) -> dict[str, list[str]]:
    """What can be chosen for a figure of these blocks, by what it is: layers, heads, maps."""
    found: dict[str, list[str]] = {}
    for maps in small_maps(blocks):
        rows = "Rows" if maps.columns else "Maps"
        for side, names in zip(("Columns", rows), sides(maps), strict=True):
            kinds = {_kind(name) for name in names}
            (kind,) = kinds if len(kinds) == 1 else ("",)
            known = found.setdefault(f"{kind.capitalize()}s" if kind else side, [])
            known += [name for name in names if name and name not in known]
    return {label: names for label, names in found.items() if len(names) > 1}


def small_maps(blocks: Iterable[Block]) -> Iterator[Tiles | Grid]:
    """All maps that stand beside one another, also those that are on paper instead of a canvas."""
    for block in flat(blocks):
        if isinstance(block, Canvas | Chart):
            yield from small_maps(block.still)
        elif isinstance(block, Grid) or (isinstance(block, Tiles) and len(block.maps) > 1):
            yield block


def sides(maps: Tiles | Grid) -> tuple[Sequence[str], Sequence[str]]:
    """The names of columns and rows, of maps that stand in no table their own."""
    if isinstance(maps, Grid):
        return maps.columns, [row.name for row in maps.rows]
    return maps.columns, maps.rows if maps.columns else [tile.name for tile in maps.maps]


def maps_of(maps: Tiles | Grid) -> list[np.ndarray]:
    """Their numbers, row by row."""
    return [tile.values for tile in maps.maps] if isinstance(maps, Tiles) else [tile.values for tile, _ in maps.cells]


def _cells(maps: Tiles | Grid) -> list[str]:
    """What each is called, row by row."""
    across, down = sides(maps)
    if not maps.columns:
        return [*down]
    return [", ".join(filter(None, (column, row))) for row in down or [""] for column in across]


def _kept(maps: Tiles | Grid, across: Sequence[int], down: Sequence[int]) -> Tiles | Grid:
    heads = {"columns": _at(maps.columns, across), "rows": _at(maps.rows, down)}
    if isinstance(maps, Grid):
        rows = tuple(_at(row, across) for row in _at(maps.maps, down))
        pictured = sum(row < maps.pictured for row in down)
        return replace(maps, maps=rows, values=_at(maps.values, down), pictured=pictured, **heads)
    many = max(1, len(maps.columns))
    kept = [row * many + column for row in down for column in across]
    each = {name: _at(getattr(maps, name), kept) for name in ("maps", "values", "over")}
    return replace(maps, chosen=None, **heads, **each)


def _called(name: str, asked: str) -> bool:
    name, asked = name.casefold(), asked.casefold()
    return name == asked or name.startswith(f"{asked} ")


def _kind(name: str) -> str:
    """What is counted: the layer of "layer 3", "" of a name without a number."""
    counted = re.fullmatch(r"(\D+) \d+", name)
    return counted[1].casefold() if counted else ""


def _at(values: Sequence, places: Sequence[int]) -> tuple:
    return tuple(values[at] for at in places if at < len(values))
