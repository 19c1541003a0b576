"""What a view gives, part by part: every host (page, notebook, file, report) makes its own of the same blocks.

A block holds numbers and words, never elements of a page. Text is text: no host reads it as Markdown.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import UInt8

from vizkit.figure.canvas.rows import Rows
from vizkit.figure.canvas.tile_maps import Tile

if TYPE_CHECKING:
    from vizkit.analysis.remarks.remark import Remark
    from vizkit.figure.class_bars import ClassBars
    from vizkit.models import Loaded
    from vizkit.traces import Trace
    from vizkit.views.rules import Rule
    from vizkit.views.subject import Subject

Limits = tuple[int | float, int | float]  # the values at the two ends of the colours


class Block:
    """A part of what a view shows."""


# ---- words -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Heading(Block):
    text: str


@dataclass(frozen=True)
class Line(Block):
    """A quiet line beside what it is about."""

    text: str


@dataclass(frozen=True)
class Said(Block):
    """The sentence that says what is to be seen, computed for this very picture; "" where nothing stands out, and its
    place is kept."""

    text: str


@dataclass(frozen=True, eq=False)
class Answered(Block):
    """Beside answers of a model: hosts that can say what it knows at all, such as twelve drawn insects, say it here."""

    loaded: "Loaded"


@dataclass(frozen=True)
class Formula(Block):
    """In LaTeX."""

    latex: str


def first_said(*remarks: "Remark | None") -> str:
    """Of several rules the first that says something."""
    return next((remark.words for remark in remarks if remark is not None), "")


# ---- over the picture ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Map(Block):
    """Rows of a matrix over the picture, of which that of one query is drawn: the patch under the cursor, or the token
    named `query`. A click sets the field `picks` to "patch", and the cursor.

    `said_by`: that sentence for each query that can be asked here, by the id of its token, so that hovering changes it
    too. `guide`: first steps are explained once in a browser, and these words say what to do next.

    `label`: of what, before the model's name. `quantity`: what the numbers are, beside the colour bar. `bars`: shares
    or values listed below it, by name. `said`: the sentence below it, for which `room` keeps the place where
    nothing is said. `of`: the subject on whose picture it lies, where the view is given several at once. `instead`:
    drawn in the place of the picture: what the model saw of it, in another form.
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


@dataclass(frozen=True, eq=False)
class Tiles(Block):
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
    of: "Subject | None" = None


@dataclass(frozen=True, eq=False)
class Grid(Block):
    """Maps in rows, a column for each subject. `rows`: what stands before each, a Tile without a map. A click on a map
    of row i sets the field `picks` to `values[i]`."""

    rows: tuple[Tile, ...]
    of: "tuple[Subject, ...]"
    maps: tuple[tuple[Tile, ...], ...]
    limits: tuple[tuple[Limits, ...], ...]
    alt: str
    picks: str = ""
    values: tuple[Any, ...] = ()
    chosen: Any = None


# ---- beside it -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Picture(Block):
    """Pixels as they are; `share` of the place's width at most."""

    rgb: UInt8[np.ndarray, "height width 3"]
    alt: str
    caption: str = ""
    share: int | float = 1


@dataclass(frozen=True, eq=False)
class Chart(Block):
    """`figure`: of plotly, made by a function of `vizkit.figure`. A click on a point sets the field `picks` to its
    `customdata`. `still`: what is on paper in its place, of cells that lie over a picture."""

    figure: Any
    alt: str
    title: str = ""
    picks: str = ""
    still: tuple[Block, ...] = ()


@dataclass(frozen=True, eq=False)
class Bars(Block):
    """A bar for each class, below one another, with a tick where it stood before. The axis as that of `ClassBars`: what
    is compared has one `top`."""

    bars: "ClassBars"
    alt: str


@dataclass(frozen=True)
class Metrics(Block):
    """Numbers to be read at a glance: (what, number, more) of each."""

    items: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Table(Block):
    """Rows by the names of their columns; numbers as they are to be read."""

    rows: tuple[Mapping[str, str | float | None], ...]
    alt: str
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Canvas(Block):
    """An element with a script of its own (`vizkit.figure.canvas.scripts`). `tells`: by the name of a value that it
    sends the rule that the value has to keep, and the field that is set to it, or several for the parts of a tuple, ""
    for a part that is left. `still`: what is on paper in its place.

    `of`: the subject on whose picture it draws; hosts then add to the data `image`, `image_size` (height, width), `box`
    (what the model sees, in shares of it), `point` (the cursor), `colours` and `signed`, and `alone` where nobody
    answers. A click that tells `point` sets the field `picks` to "patch", and the cursor, as that on a map.
    """

    script: str
    data: dict[str, Any]
    alt: str
    tells: Mapping[str, "tuple[Rule[Any], str | tuple[str, ...]]"] = field(default_factory=dict)
    still: tuple[Block, ...] = ()
    of: "Subject | None" = None
    picks: str = ""


# ---- of other blocks -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Part(Block):
    """Blocks that may have no meaning for this model while the rest has: `make` may raise NotApplicable, whose sentence
    then stands in their place."""

    make: Callable[[], Iterable[Block]]


@dataclass(frozen=True, eq=False)
class Columns(Block):
    """Beside one another, below one another on a phone; `widths` relative to each other."""

    parts: tuple[tuple[Block, ...], ...]
    widths: tuple[int | float, ...] = ()


@dataclass(frozen=True, eq=False)
class Job:
    """`work(progress)` gives the result; it calls `progress(done, total)` between two passes, which raises where nobody
    wants the result any more. `key`: with the subject, all that the result depends on. `words`: what is done."""

    key: Hashable
    words: str
    work: Callable[[Callable[[int, int], None]], Any]


@dataclass(frozen=True, eq=False)
class Later(Block):
    """What takes seconds to minutes. `show` gives the blocks of the results that are there, by the keys of their jobs:
    a page draws it again with each that comes in, other hosts wait for all. `button`: what starts them on a page, ""
    where they start by themselves. `only_asked`: other hosts start nothing and show what is there."""

    of: "Subject"
    jobs: tuple[Job, ...]
    show: Callable[[Mapping[Hashable, Any]], Iterable[Block]]
    button: str = ""
    only_asked: bool = False

    def now(self) -> Iterable[Block]:
        """The blocks when everything is done, done here."""
        if self.only_asked:
            return self.show({job.key: done for job in self.jobs if (done := self.of.find(job.key)) is not None})
        results = {job.key: self.of.kept(job.key, partial(job.work, lambda done, total: None)) for job in self.jobs}
        return self.show(results)


@dataclass(frozen=True, eq=False)
class Folded(Block):
    """What few ask for, made when it is opened; not on paper."""

    title: str
    make: Callable[[], Iterable[Block]]


@dataclass(frozen=True, eq=False)
class Link(Block):
    """A button that opens another view of the page, as it is set; not on paper."""

    label: str
    view: Any


@dataclass(frozen=True)
class Process(Block):
    """What runs on the server for minutes, started and stopped there alone: a module of `ui.widgets` by its name."""

    name: str


@dataclass(frozen=True, eq=False)
class Proof(Block):
    """Why the pictures are true: the check of a trace; or what else has been computed again, in words of its own, and
    whether it agrees."""

    trace: "Trace"
    words: str = ""
    holds: bool = True


@dataclass(frozen=True, eq=False)
class Numbers(Block):
    """What is saved as NPZ, made when somebody saves."""

    make: Callable[[], Mapping[str, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Download(Block):
    """One more file that can be saved, made when somebody does: NPZ, or CSV where its label ends so."""

    label: str
    make: Callable[[], bytes]
