"""What a view gives, part by part: every host (page, notebook, file, report) makes its own of the same blocks.

A block holds numbers and words, never elements of a page. Text is text: no host reads it as Markdown.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.canvas.rows import Rows

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from vizkit.analysis.remarks.remark import Remark
    from vizkit.traces import Trace
    from vizkit.views.rules import Rule

__all__ = ["Block", "Canvas", "Chart", "Columns", "Folded", "Formula", "Heading", "Line", "Map", "Numbers", "Part",
           "Picture", "Proof", "Said", "Table", "Tile", "Tiles", "first_said"]  # fmt: skip

Limits = tuple[float, float]  # the values at the two ends of the colours


# ---- words -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Line:
    """A quiet line beside what it is about."""

    text: str


@dataclass(frozen=True)
class Said:
    """The sentence that says what is to be seen, computed for this very picture; "" where nothing stands out, and its
    place is kept."""

    text: str


@dataclass(frozen=True)
class Formula:
    """In LaTeX."""

    latex: str


def first_said(*remarks: "Remark | None") -> str:
    """Of several rules the first that says something."""
    return next((remark.words for remark in remarks if remark is not None), "")


# ---- over the picture ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Map:
    """Rows of a matrix over the picture, of which that of one query is drawn: the patch under the cursor, or the token
    named `query`. A click sets the field `picks` to "patch", and the cursor.

    `label`: of what, before the model's name. `quantity`: what the numbers are, beside the colour bar. `bars`: shares
    or values listed below it, by name. `said`: the sentence below it.
    """

    rows: Rows
    query: str | tuple[float, float]
    label: str
    quantity: str
    bars: tuple[tuple[str, float | str], ...] = ()
    said: str = ""
    picks: str = ""


@dataclass(frozen=True, eq=False)
class Tile:
    """One small map. `places`: None where there is none, and `note` says why. `more`: shown when it is pointed at.
    `signed`: drawn from blue over white at 0 to red. `unit`: "%" or ""."""

    name: str
    places: Float[np.ndarray, "row column"] | None
    note: str = ""
    more: str = ""
    signed: bool = False
    unit: str = ""

    @property
    def values(self) -> Float[np.ndarray, "row column"]:
        return np.zeros((0, 0)) if self.places is None else self.places


@dataclass(frozen=True, eq=False)
class Tiles:
    """Small maps beside one another, over the picture. `limits`: of every map. A click on number i sets the field
    `picks` to `values[i]`; `chosen` is the one that is set. `tile_px`: the least width of a map."""

    title: str
    maps: tuple[Tile, ...]
    limits: tuple[Limits, ...]
    alt: str
    picks: str = ""
    values: tuple[Any, ...] = ()
    chosen: Any = None
    tile_px: int = 120


# ---- beside it -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels as they are; `share` of the place's width at most."""

    rgb: UInt8[np.ndarray, "height width 3"]
    alt: str
    caption: str = ""
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class Chart:
    """A plotly figure, made by a function of `vizkit.figure`. A click on a point sets the field `picks` to its
    `customdata`."""

    figure: "go.Figure"
    alt: str
    title: str = ""
    picks: str = ""


@dataclass(frozen=True)
class Table:
    """Rows by the names of their columns; numbers as they are to be read."""

    rows: tuple[Mapping[str, str | float | None], ...]
    alt: str
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Canvas:
    """An element with a script of its own (`vizkit.figure.canvas.scripts`). `tells`: by the name of a value that it
    sends the rule that the value has to keep, and the field that is set to it. `still`: what is on paper in its
    place."""

    script: str
    data: dict[str, Any]
    alt: str
    tells: Mapping[str, "tuple[Rule[Any], str]"] = field(default_factory=dict)
    still: tuple["Block", ...] = ()


# ---- of other blocks -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Part:
    """Blocks that may have no meaning for this model while the rest has: `make` may raise NotApplicable, whose sentence
    then stands in their place."""

    make: Callable[[], Iterable["Block"]]


@dataclass(frozen=True, eq=False)
class Columns:
    """Beside one another, below one another on a phone; `widths` relative to each other."""

    parts: tuple[tuple["Block", ...], ...]
    widths: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Folded:
    """What few ask for, made when it is opened; not on paper."""

    title: str
    make: Callable[[], Iterable["Block"]]


@dataclass(frozen=True, eq=False)
class Proof:
    """Why the pictures are true: the check of a trace."""

    trace: "Trace"


@dataclass(frozen=True, eq=False)
class Numbers:
    """What is saved as NPZ, made when somebody saves."""

    make: Callable[[], Mapping[str, np.ndarray]]


Block = (
    Heading | Line | Said | Formula | Map | Tiles | Picture | Chart | Table | Canvas | Part | Columns | Folded | Proof
    | Numbers
)  # fmt: skip


def flat(blocks: Iterable[Block]) -> "Sequence[Block]":
    """All blocks, with those inside of others in their place. Raises NotApplicable only where nothing else is there."""
    from vizkit.traces import NotApplicable

    found: list[Block] = []
    for block in blocks:
        if isinstance(block, Columns):
            found += [inner for part in block.parts for inner in flat(part)]
        elif isinstance(block, Part):
            try:
                found += flat(block.make())
            except NotApplicable as sentence:
                found.append(Line(str(sentence)))
        else:
            found.append(block)
    return found
