"""What a view gives, part by part: every host (page, notebook, file, report) makes its own of the same blocks.

A block holds numbers and words, never elements of a page. Text is text: no host reads it as Markdown.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, dataclass_transform

import numpy as np
from jaxtyping import UInt8

from vizkit.figure.canvas.rows import Rows
from vizkit.figure.canvas.tile_maps import Tile

if TYPE_CHECKING:
    from vizkit.figure.class_bars import ClassBars
    from vizkit.figure.saved.plate import Mark
    from vizkit.figure.sequences.word_matrix import WordMatrix
    from vizkit.image import RGB
    from vizkit.models import Loaded
    from vizkit.traces import Trace
    from vizkit.views.rules import Rule
    from vizkit.views.subject import Subject

Verdict = Literal["best", "fails"]


@dataclass_transform(frozen_default=True, eq_default=False)
class Block:
    """A part of what a view shows: a frozen dataclass. Its values may be arrays, so one is only equal to itself, unless
    it says `eq=True`."""

    def __init_subclass__(cls, *, eq: bool = False) -> None:
        dataclass(frozen=True, eq=eq)(cls)


Blocks = Iterator[Block]


# ---- words -----------------------------------------------------------------------------------------------------------
class Heading(Block, eq=True):
    text: str


class Line(Block, eq=True):
    """A quiet line beside what it is about."""

    text: str


class Hint(Block, eq=True):
    """A quiet line about what can be done on a page: no file has it, where nobody answers."""

    text: str


class Said(Block, eq=True):
    """What is to be seen, computed for this very image; "" where nothing stands out, and its place is kept."""

    text: str


class Answered(Block):
    """Beside answers of a model: hosts that can say what it knows at all, such as twelve drawn insects, say it here."""

    loaded: "Loaded"


class Code(Block, eq=True):
    """Lines of a program, to be read or copied."""

    code: str
    language: str = "python"


class Formula(Block, eq=True):
    """In LaTeX."""

    latex: str


def first_said(*remarks: str | None) -> str:
    """Of several rules the first that says something."""
    return next(filter(None, remarks), "")


# ---- over the picture ------------------------------------------------------------------------------------------------
class Map(Block):
    """Rows of a matrix over the image, of which that of one query is drawn: the patch under the cursor, or the token
    named `query`. A click sets the field `picks` to "patch", and the cursor.
    `said_by`: that sentence for each query that can be asked here, by the id of its token, so that hovering changes it
    too. `guide`: first steps are explained once in a browser, and these words say what to do next.
    `tour`: then the query goes once along these points of the image, in shares, by itself. `elsewhere`: grids of
    other models under the same cursor, to compare a coarser one with: (model, grid, what it sees, in shares).

    `label`: of what, before the model's name. `quantity`: what the numbers are, beside the colour bar. `bars`: shares
    or values listed below it, by name. `said`: the sentence below it, for which `room` keeps the place where
    nothing is said. `of`: the subject on whose image it lies, where the view shows several at once. `instead`:
    drawn in the place of the image: what the model saw of it, in another form. `ringed`: places (row, column) that
    the sentence is about.
    """

    rows: Rows
    query: str | tuple[float, float]
    label: str
    quantity: str
    bars: tuple[tuple[str, int | float | str], ...] = ()
    said: str = ""
    picks: str = ""
    of: "Subject | None" = None
    instead: UInt8[np.ndarray, "row column 3"] | None = None
    room: bool = True
    said_by: Mapping[int, str] = field(default_factory=dict)
    guide: str = ""
    elsewhere: tuple[tuple[str, tuple[int, int], tuple[float, float, float, float]], ...] = ()
    tour: tuple[tuple[float, float], ...] = ()
    ringed: tuple[tuple[int, int], ...] = ()


class Tiles(Block):
    """Small maps beside one another, over the image. A click on number i sets the field `picks` to `values[i]`, or
    several fields to its parts; `chosen` is the one that is set. `tile_px`: the least width of a map. `columns`,
    `rows`: on paper they stand row by row under and behind these names, as a canvas has them. `over`: the subjects on
    whose images they lie, where each has its own."""

    title: str
    maps: tuple[Tile, ...]
    alt: str
    picks: str | tuple[str, ...] = ""
    values: tuple[Any, ...] = ()
    chosen: Any = None
    tile_px: int = 120
    of: "Subject | None" = None
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    over: "tuple[Subject, ...]" = ()


class Grid(Block):
    """Maps in rows, under the names of `columns`, all on one scale, of `quantity`; each over the image of
    its own subject. `rows`: what stands before each, a Tile without a map. A click on a map of row i sets the field
    `picks` to `values[i]`, "image" being the name of the image itself. `pictured`: so many of the first rows have
    their image before them, without a map."""

    columns: tuple[str, ...]
    rows: tuple[Tile, ...]
    maps: "tuple[tuple[tuple[Tile, Subject], ...], ...]"
    quantity: str
    alt: str
    picks: str = ""
    values: tuple[Any, ...] = ()
    chosen: Any = None
    pictured: int = 0

    @property
    def cells(self) -> "list[tuple[Tile, Subject]]":
        """Row by row."""
        return [cell for row in self.maps for cell in row]

    @property
    def told(self) -> list[Any]:
        """What a click on each of them stands for."""
        return [value for row, value in zip(self.maps, self.values, strict=False) for _ in row]


# ---- beside it -------------------------------------------------------------------------------------------------------
class Picture(Block):
    """Pixels as they are; `share` of the place's width at most."""

    rgb: UInt8[np.ndarray, "height width 3"]
    alt: str
    caption: str = ""
    share: int | float = 1


class Chart(Block):
    """`figure`: of plotly, made by a function of `vizkit.figure`. A click on a point sets the field `picks` to its
    `customdata`, or several fields to the parts of it. `still`: what is on paper in its place, of cells that lie over
    an image. `hint`: what is said below it where it answers, as what a click does."""

    figure: Any
    alt: str
    title: str = ""
    picks: str | tuple[str, ...] = ""
    still: tuple[Block, ...] = ()
    hint: str = ""


class Bars(Block):
    """A bar for each class, below one another, with a tick where it stood before. The axis as that of `ClassBars`: what
    is compared has one `top`."""

    bars: "ClassBars"
    alt: str


class Matrix(Block):
    """Numbers as cells, with words on the sides."""

    matrix: "WordMatrix"
    alt: str


class Metrics(Block, eq=True):
    """Numbers to be read at a glance: (what, number, more) of each."""

    items: tuple[tuple[str, str, str], ...]


class Table(Block, eq=True):
    """Rows by the names of their columns; numbers as they are to be read. `helps`: what a column tells, by its name.
    `marks`: of cells, by the number of their row and the name of their column."""

    rows: tuple[Mapping[str, str | float | None], ...]
    alt: str
    caption: str = ""
    helps: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[tuple[int, str], Verdict] = field(default_factory=dict)


class Canvas(Block):
    """An element with a script of its own (`vizkit.figure.canvas.scripts`). `tells`: by the name of a value that it
    sends the rule that the value has to keep, and the field that is set to it, or several for the parts of a tuple, ""
    for a part that is left. `still`: what is on paper in its place.
    `of`: the subject on whose image it draws; hosts then add to the data `image`, `image_size` (height, width), `box`
    (what the model sees, in shares of it), `point` (the cursor), `colours` and `signed`, and `alone` where nobody
    answers. A click that tells `point` sets the field `picks` to "patch", and the cursor, as that on a map.
    `picture`: of number i of its `tiles` the name and the pixels, where a page offers to open one in another view;
    `model`: the one that is shown there first, by the name of its source, "" for those that are chosen.
    """

    script: str
    data: dict[str, Any]
    alt: str
    tells: Mapping[str, "tuple[Rule[Any], str | tuple[str, ...]]"] = field(default_factory=dict)
    still: tuple[Block, ...] = ()
    of: "Subject | None" = None
    picks: str = ""
    picture: "Callable[[int], tuple[str, RGB]] | None" = None
    model: str = ""


class Paper(Block):
    """Of a canvas, for paper alone: `draw(width)` gives marks from the top left, and how high they are."""

    draw: "Callable[[float], tuple[Sequence[Mark], float]]"


class Link(Block):
    """A button of a page with these words, to a view by its name in `VIEWS`, or to one of this page as it is set;
    `image`: of this sample, with the models that are shown of it where nobody has chosen; `model`: with this one first,
    by the name of its source."""

    words: str
    view: Any
    image: str = ""
    model: str = ""


class ToReport(Block):
    """A button of a page with these words that adds a view of this page, as it is set, to the report."""

    words: str
    view: Any


class Part(Block):
    """Blocks that may have no meaning for this model: `make` may raise NotApplicable, whose sentence stands there."""

    make: Callable[[], Iterable[Block]]


class Columns(Block):
    """Beside one another, below one another on a phone; `widths` relative to each other."""

    parts: tuple[tuple[Block, ...], ...]
    widths: tuple[int | float, ...] = ()


def side_by_side(*parts: Block | Iterable[Block], widths: tuple[int | float, ...] = ()) -> Columns:
    """Columns, each of one block or of several below one another."""
    return Columns(tuple((part,) if isinstance(part, Block) else tuple(part) for part in parts), widths)


def in_rows(blocks: Sequence[Block], beside: int) -> tuple[Columns, ...]:
    """So many beside one another, the last row as wide."""
    rows = [tuple((block,) for block in blocks[at : at + beside]) for at in range(0, len(blocks), beside)]
    return tuple(Columns(row + ((),) * (beside - len(row))) for row in rows)


@dataclass(frozen=True, eq=False)
class Job:
    """`work(progress)` gives the result; it calls `progress(done, total)` between two passes, which raises where nobody
    wants the result any more. `key`: with the subject, all that the result depends on. `words`: what is done. `rough`:
    shown on a page until there is better; other hosts wait for that."""

    key: Hashable
    words: str
    work: Callable[[Callable[[int, int], None]], Any]
    rough: bool = False


class Later(Block):
    """What takes seconds to minutes. `show` gives the blocks of the results that are there, by the keys of their jobs.
    `button`: what starts them on a page, if anything; `again`: what does them anew there, of what is never twice the
    same; `only_asked`: other hosts do not wait for all. `silent`: a page shows no bar, for the blocks say how far it
    is."""

    of: "Subject"
    jobs: tuple[Job, ...]
    show: Callable[[Mapping[Hashable, Any]], Iterable[Block]]
    button: str = ""
    only_asked: bool = False
    again: str = ""
    silent: bool = False

    def now(self) -> Iterable[Block]:
        """The blocks when everything is done, done here."""
        if self.only_asked:
            return self.show({job.key: done for job in self.jobs if (done := self.of.find(job.key)) is not None})
        jobs = [job for job in self.jobs if not job.rough]
        return self.show({job.key: self.of.kept(job.key, partial(job.work, lambda done, total: None)) for job in jobs})


class Folded(Block):
    """What few ask for, made when it is opened; on a page that nobody answers it stands open, and not on paper."""

    title: str
    make: Callable[[], Iterable[Block]]


class Process(Block, eq=True):
    """What runs on the server for minutes, started and stopped there alone: a module of `ui.widgets` by its name, which
    may be told what it works on."""

    name: str
    on: Any = ""


class Proof(Block):
    """Why the figures are true: the check of a trace; or, `trace` may be None, what else was computed again."""

    trace: "Trace | None"
    words: str = ""
    holds: bool = True


class Numbers(Block):
    """What is saved as NPZ, made when somebody saves: by name, whatever numpy takes for an array."""

    make: Callable[[], Mapping[str, Any]]

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(values) for name, values in self.make().items()}


class Download(Block):
    """One more file that can be saved, made when somebody does. `label` ends with its kind, (NPZ) or another."""

    label: str
    make: Callable[[], bytes]
