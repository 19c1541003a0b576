"""How a figure stands on paper: how wide it is, and which of its small maps are on it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vizkit.figure.saved.small_maps import width_of_table
from vizkit.views.blocks import Block, Canvas, Chart, Columns, Grid, Tiles
from vizkit.views.controls import ControlError
from vizkit.views.settled import flat

LEAST_MM, MOST_MM = 60, 420
POINTS = 72 / 25.4  # a millimetre


@dataclass(frozen=True)
class Layout:
    """`width_mm`: of the whole figure, None for as wide as it needs. `only`: of small maps, or of their rows and
    columns, those that are called so on paper or begin with these words: layers, heads, methods, models."""

    width_mm: float | int | None = None
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.width_mm is not None and not LEAST_MM <= self.width_mm <= MOST_MM:
            raise ControlError(f"The width of a figure is from {LEAST_MM} to {MOST_MM} mm, not {self.width_mm:g}.")

    def chosen(self, columns: Sequence[Sequence[Block]]) -> list[list[Block]]:
        """The same blocks with these small maps alone. Raises ControlError for a name that none of them has."""
        names = [name for blocks in columns for maps in _small(blocks) for side in _sides(maps) for name in side]
        for each in self.only:
            if not any(_called(name, each) for name in names):
                there = f"there are {', '.join(dict.fromkeys(filter(None, names)))}" if names else "it has none"
                raise ControlError(f"No small map of this figure is called {each[:60]!r}; {there}.")
        return [[self._of(block) for block in blocks] if self.only else [*blocks] for blocks in columns]

    def width(self, usual: float, columns: Sequence[Sequence[Block]], beside: int) -> float:
        """In points, of each column."""
        if self.width_mm is not None:
            return self.width_mm * POINTS / beside
        tables = (_sides(maps) for blocks in columns for maps in _small(blocks) if maps.columns)
        return max((usual, *(width_of_table(len(across), down) for across, down in tables)))

    def _of(self, block: Block) -> Block:
        if isinstance(block, Columns):
            return replace(block, parts=tuple(tuple(map(self._of, part)) for part in block.parts))
        if isinstance(block, Canvas | Chart):
            return replace(block, still=tuple(map(self._of, block.still)))
        return self._kept(block) if isinstance(block, Tiles | Grid) else block

    def _kept(self, maps: Tiles | Grid) -> Tiles | Grid:
        across, down = map(self._places, _sides(maps))
        heads = {"columns": _at(maps.columns, across), "rows": _at(maps.rows, down)}
        if isinstance(maps, Grid):
            return replace(
                maps,
                maps=tuple(_at(row, across) for row in _at(maps.maps, down)),
                values=_at(maps.values, down),
                **heads,
            )
        many = max(1, len(maps.columns))
        kept = [row * many + column for row in down for column in across or (0,)]
        return replace(maps, **heads, **{name: _at(getattr(maps, name), kept) for name in ("maps", "values")})

    def _places(self, names: Sequence[str]) -> list[int]:
        """Of those that are asked for; of all where none is."""
        asked = [at for at, name in enumerate(names) if any(_called(name, each) for each in self.only)]
        return asked or list(range(len(names)))


WHOLE = Layout()
"""As wide as it needs, with all that is there."""


def _called(name: str, asked: str) -> bool:
    return name == asked or name.startswith(f"{asked} ")


def _at(values: Sequence, places: Sequence[int]) -> tuple:
    return tuple(values[at] for at in places) if values else ()


def _small(blocks: Iterable[Block]) -> Iterator[Tiles | Grid]:
    for block in flat(blocks):
        if isinstance(block, Canvas | Chart):
            yield from _small(block.still)
        elif isinstance(block, Tiles | Grid):
            yield block


def _sides(maps: Tiles | Grid) -> tuple[Sequence[str], Sequence[str]]:
    """The names of columns and rows, of maps that stand in no table their own."""
    if isinstance(maps, Grid):
        return maps.columns, [row.name for row in maps.rows]
    return maps.columns, maps.rows if maps.columns else [tile.name for tile in maps.maps]
