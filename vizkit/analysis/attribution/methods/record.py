"""What a method of explaining is made of. Imports nothing heavy, so lists are quick."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attribution.layer_product import Query
    from vizkit.analysis.attribution.subject import Fill, Progress, Subject
    from vizkit.traces import Trace

    Map = Tensor | tuple[Tensor, str]
    """(row, column), and perhaps a sentence about this very map."""


@dataclass(frozen=True, eq=False)
class Given:
    """What a method may read: see `explaining.explain`. `model` is there for methods that need it."""

    trace: "Trace"
    query: "Query"
    fill: "Fill"
    model: "Subject | None" = None
    progress: "Progress | None" = None

    @property
    def subject(self) -> "Subject":
        """The model to run again, for methods that need it."""
        assert self.model is not None, "only methods that need the model may run it"
        return self.model

    @property
    def cells(self) -> "tuple[int, int]":
        """The model's patches, taken away together: see `subject.cells_of`."""
        from vizkit.analysis.attribution.subject import cells_of

        return cells_of(self.trace)


def later(place: str) -> "Callable[..., Any]":
    """The function "file:name" of `analysis.attribution`, imported when it is called."""
    return lambda *given: _function(place)(*given)


def code(place: str, note: str = "") -> "Callable[[Given], Map]":
    """The same as a method's `run`: it is given that part of `Given` after which each of its parameters is named; those
    of other names keep their defaults. `note`: the function, of the trace, of a sentence about the map, or ""."""

    def run(given: Given) -> "Map":
        function = _function(place)
        parts = signature(function).parameters.keys() & dir(given)
        heat = function(**{name: getattr(given, name) for name in parts})
        said = note and _function(note)(given.trace)
        return (heat, said) if said else heat

    return run


def _function(place: str) -> "Callable[..., Any]":
    file, _, name = place.partition(":")
    return getattr(import_module(f"vizkit.analysis.attribution.{file}"), name)


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to explain: its words, what it needs, and its own code.

    `needs`: a "trace", a trace with a "target", or the "model" itself (a `subject.Subject`). `run`: from what is given
    to the map, imported when it is called, so that lists stay quick: `code`. `applies`: raises NotApplicable
    where this kind of model can have no such map, quickly; may be left out by methods that need the model only.

    `signed_run`: the map of one class against another, from both their traces, where that is more
    than the difference of two maps. Methods that need the model explain the difference in `run`, by `Subject.score`.

    `signed`: values below zero speak against the class. `slow`: runs the model tens to hundreds of times. `shares`: the
    numbers are shares of a whole; `logit`: they are in units of the logit. `differs`: where this departs from its
    authors' code, in a sentence. `layered`: it is made at a layer that can be chosen (`grad_cam.at_layer`). `even`: why
    its map may hardly tell places apart, in a sentence, where that is known.
    """

    name: str
    needs: Literal["trace", "target", "model"]
    title: str = ""
    asks: str = ""
    caveat: str = ""
    source: str = ""
    run: "Callable[[Given], Map]" = None  # pyright: ignore[reportAssignmentType]  # left out, it is refused below
    applies: "Callable[[Trace], object] | None" = None
    signed_run: "Callable[[Trace, Trace], Tensor] | None" = None
    signed: bool = False
    slow: bool = False
    shares: bool = False
    logit: bool = False
    layered: bool = False
    differs: str = ""
    even: str = ""

    def __post_init__(self) -> None:
        wrong = next((said for is_wrong, said in self.faults() if is_wrong), "")
        if wrong:
            raise ValueError(f"{self.name} in vizkit/analysis/attribution/methods/__init__.py is not whole: {wrong}")

    def faults(self) -> tuple[tuple[bool, str], ...]:
        """(whether it is so, what to do about it)."""
        return (
            (not self.title, "give `title`, which stands above its map."),
            (not callable(self.run), "give `run`, a function from `Given` to its map, (row, column)."),
            (
                self.needs != "model" and not callable(self.applies),
                "give `applies`, a function of a trace that raises NotApplicable where there can be no such map.",
            ),
            (
                self.signed_run is not None and self.needs != "target",
                "`signed_run` is for methods that need a target; the others know no class or ask `Subject.score`.",
            ),
            (self.slow and self.needs != "model", "`slow` is for methods that need the model."),
            (not self.asks.endswith("?"), "`asks` is the question that its map answers, and ends in a question mark."),
            (not self.caveat.endswith("."), "`caveat` is a sentence on what its map cannot tell."),
            *(
                (bool(words) and not words.endswith("."), f"`{name}` is a sentence.")
                for name, words in (("differs", self.differs), ("even", self.even))
            ),
            (not self.source, "give `source`, the paper and its equation or section."),
        )

    def words(self) -> str:
        """What it asks, what it cannot tell, where it departs from others."""
        return " ".join(filter(None, (self.asks, self.caveat, self.differs)))

    def measures(self, unit: str = "logit") -> str:
        """What its numbers are. `unit`: what the model gives a class, its "logit" or its "value"."""
        return ("share of the whole" if self.shares else "evidence") + (
            f", in units of the {unit}" if self.logit else ""
        )
