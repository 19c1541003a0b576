"""What a view asks: each of its fields says how it is chosen, in the same words on a page, in a link, on the command
line and in a notebook.

    class Rollout(View):
        fusion: Literal["mean", "max", "min"] = choice("Heads", ("mean", "max", "min"), "How heads become one matrix.")
        depth: int | None = layer("Up to layer", "Where the product ends.", plays=True)

A default never depends on what is shown, else a link without the field would change its meaning: None stands for the
last layer, or the mean of the heads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import inf
from typing import Any, Literal, TypeVar

from vizkit.figure.scales import CHOICES
from vizkit.from_json import ReportError, read_fields
from vizkit.views import rules
from vizkit.views.rules import Rule, one_of, whole
from vizkit.views.subject import Subject
from vizkit.views.view import View

Subjects = Sequence[Subject]
Options = Sequence[str] | Callable[..., Sequence[str]]
End = int | float | Callable[..., int | float]
"""Functions are given the subjects; those of a control that `follows` the view as it is set so far, too."""
Kind = Literal[
    "choice", "several", "number", "switch", "layer", "head", "query", "text", "folder", "text model", "detector", "run"
]
V = TypeVar("V", bound=View)
USUAL = {
    "layer": "; by default the last",
    "head": "; by default the mean of all",
    "number": "; by default the highest",
}
"""What None stands for, in a manual."""


class ControlError(ReportError):
    """A setting that this view, or this model, does not have; the message is one sentence for the user."""


@dataclass(frozen=True)
class Control:
    """How one field is chosen.

    `options`: of a choice; of models, a function of the subjects. `words`: how options are called, where not by
    themselves. `low` to `high` by `step`: of a number; also functions of the subjects; `high` is 0 of a switch that
    would change nothing of them. `at`: its only values in order, where they are not evenly apart, or a function of the
    subjects. `plays`: a step of a sequence, which can be played. `more`: of those that few change.
    `key`: its name in the address, where views share it. `when`: of the settings so far, whether it is asked at all.
    `longest`: characters of a text. `listed`: options are a list, however few they are. `runs`: another value runs the
    model again; all others are answered by what has been computed. `inside`: the figure itself sets it, so that a page
    has no element for it; it is in the link, on the command line and in a notebook as any other. `examples`: of a text,
    the first of which "" stands for; of several all that () stands for. `most`: of several, how many. `follows`: its
    functions depend on other settings, and are given them as `view`.
    `belongs`: the fields, or "image", with any of which one that is `inside` becomes the usual one again.
    `typed`: a number that is no quantity. `usual`: of a layer, what None stands for where it is not the last.
    `pictures`: its options are `Subject.others`, of which a link may name one that is not here. `meant`: which option
    a text stands for that is none, of these subjects; ControlError where there is none. `zips`: of a folder, whether a
    page takes a zip file of images as well.
    """

    kind: Kind
    label: str
    help: str = ""
    options: Options = ()
    words: Mapping[str, str] = field(default_factory=dict)
    low: End = 0
    high: End = 1
    step: int | float = 1
    at: tuple[int | float, ...] | Callable[..., Sequence[int]] = ()
    plays: bool = False
    more: bool = False
    key: str = ""
    when: Callable[[Any], bool] | None = None
    longest: int = 200
    listed: bool = False
    runs: bool = False
    inside: bool = False
    examples: Options = ()
    most: int | None = None
    follows: bool = False
    pictures: bool = False
    zips: bool = False
    typed: bool = False
    belongs: tuple[str, ...] = ()
    usual: Callable[[Sequence[Any]], int] | None = None
    meant: Callable[..., str] | None = None

    def called(self, option: str) -> str:
        return self.words.get(option, option)

    def described(self, default: object, cell: str) -> str:
        """For a manual: its label, what it may be, and its help. `cell`: how a patch is named."""
        usual = USUAL.get(self.kind, "") if default is None and self.usual is None else ""
        return f"{self.label}: {self._allowed(cell)}{usual}. {self.help}".strip()

    def _allowed(self, cell: str) -> str:
        """Its values in words; what depends on the model is said as such."""
        if self.kind in ("number", "layer", "head"):
            last = {"layer": "the last layer", "head": "the number of heads"}.get(self.kind, "what the model allows")
            low, high = (last if callable(end) else f"{end:g}" for end in (self.low, self.high))
            return f"a number from {low} to {high}"
        if self.kind == "switch":
            return "true or false"
        if self.kind == "folder":
            return "the name of a folder at hand"
        if self.kind == "text":
            return f"at most {self.longest} characters"
        if self.kind in ("text model", "detector", "run"):
            return "one that comes with vizkit, a finished run by its name, or the path of a folder"
        if self.kind == "query":
            named = f"{', '.join(self.words)} where the model has it" if self.words else "a special token by its name"
            return f"“patch” for that at the point, {named}, or a patch as {cell}"
        few = "any of " if self.kind == "several" else ""
        if self.pictures:
            own = ["an image that comes with vizkit, by its name", "the path of another"]
            return self._listed([*self.words, *own])
        return few + ("those of the model" if callable(self.options) else self._listed(self.options))

    def _listed(self, options: Sequence[str]) -> str:
        named = [each if self.called(each) == each else f"{each} ({self.called(each)})" for each in options]
        return " or ".join(filter(None, (", ".join(named[:-1]), named[-1])))

    def ends(self, of: Subjects) -> tuple[int | float, int | float]:
        low, high = (end(of) if callable(end) else end for end in (self.low, self.high))
        return low, high

    @property
    def counts(self) -> bool:
        """Whether its values are the 1st, the 2nd … of several, perhaps with stops between them, and no quantity."""
        return not 1 % self.step and not self.at

    def places(self, of: Subjects) -> Sequence[int | float]:
        """Its only values, where it has only some."""
        return self.at(of) if callable(self.at) else self.at

    def steps(self, of: Subjects) -> list[int | float]:
        """All its values, in order: of one that is played."""
        low, high = self.ends(of)
        if self.at:
            return [each for each in self.places(of) if low <= each <= high]
        return [low + step * self.step for step in range(round((high - low) / self.step) + 1)]


def _field(default: Any, control: Control) -> Any:
    return field(default=default, metadata={"control": control})


# A field of a dataclass is whatever its annotation says, so these return Any, as dataclasses.field does.
def choice(label: str, options: Options, help: str = "", *, default: str | None = None, **more: Any) -> Any:
    """One of several, by default the first."""
    first = options[0] if default is None and not callable(options) else default
    return _field(first, Control("choice", label, help, options, **more))


def several(label: str, options: Options, help: str = "", *, default: tuple[str, ...] = (), **more: Any) -> Any:
    """Any number of them."""
    return _field(default, Control("several", label, help, options, **more))


def number(label: str, low: End, high: End, default: int | float | None, help: str = "", **more: Any) -> Any:
    """From `low` to `high`, both allowed; `step=1` by default."""
    return _field(default, Control("number", label, help, low=low, high=high, **more))


def switch(label: str, help: str = "", *, default: bool = False, **more: Any) -> Any:
    return _field(default, Control("switch", label, help, **more))


def layer(label: str = "Layer", help: str = "", *, default: int | None = None, **more: Any) -> Any:
    """From 1 to the depth of the deepest model, in another one its last; None: the last, or `usual` of the models."""
    return _field(default, Control("layer", label, help, **({"low": 1, "high": deepest} | more)))


def head(label: str = "Head", help: str = "", **more: Any) -> Any:
    """From 1; None: the mean of all heads."""
    return _field(None, Control("head", label, help, **({"low": 1, "high": most_heads} | more)))


def query(label: str = "Query", help: str = "", *, options: Options | None = None, **more: Any) -> Any:
    """Whose row: "patch" for that under the cursor, a special token by its name, or a cell (row, column) from 0."""
    return _field(more.pop("default", "patch"), Control("query", label, help, options or tokens_that_ask, **more))


def scale(**more: Any) -> Any:
    """How shares become colours, see `figure.scales`."""
    help = (
        "Doublings: a colour for each doubling of an equal share, the same in all maps, so that weak and strong places "
        "are seen at once. Linear: from 0 to each map's own largest value, without the place that asks."
    )
    return _field(CHOICES[0], Control("choice", "Scale", help, CHOICES, more=True, **more))


def text(label: str, default: str = "", help: str = "", **more: Any) -> Any:
    return _field(default, Control("text", label, help, **more))


def text_model(*bundled: str, **more: Any) -> Any:
    """A model of texts: one of these, which come with vizkit, or of those at hand, by its name."""

    def known(of: Subjects) -> list[str]:
        return list(dict.fromkeys([*bundled, *(name for each in of for name in each.texts)]))

    return _field(bundled[0], Control(**({"kind": "text model", "label": "Model", "options": known} | more)))


def detector(*bundled: str, **more: Any) -> Any:
    """A model that finds things, as a model of texts."""
    return text_model(*bundled, kind="detector", **more)


def run_with_checkpoints(*bundled: str) -> Any:
    """A run whose weights were kept on the way: the same in all views of the page Train that can show it."""
    help = "Runs that have kept checkpoints: those that come with vizkit, and yours."
    return text_model(*bundled, kind="run", label="Run", help=help, key="run")


def folder(label: str, help: str = "", **more: Any) -> Any:
    """One of the folders at hand, by its name, which is in a link too, as no path of a server is; "" for none."""
    return _field("", Control("folder", label, help, **more))


def again(view: type[View], name: str, **changed: Any) -> Any:
    """A field of another view, asked otherwise."""
    part = view.__dataclass_fields__[name]
    return _field(part.default, replace(part.metadata["control"], **changed))


# ---- what the subjects allow -----------------------------------------------------------------------------------------
def deepest(of: Subjects) -> int:
    return max((subject.depth for subject in of), default=1) or 1


def most_heads(of: Subjects) -> int:
    return max((subject.heads for subject in of), default=1) or 1


def tokens_that_ask(of: Subjects) -> list[str]:
    return ["patch", *dict.fromkeys(name for subject in of for name in subject.special)]


def options(control: Control, of: Subjects) -> list[str]:
    return list(control.options(of) if callable(control.options) else control.options)


def rule_of(control: Control, of: Subjects) -> Rule[Any]:
    """What a canvas or a chart may set such a field to."""
    if control.kind in ("layer", "head", "number"):
        low, high = control.ends(of)
        if isinstance(control.step, int) and not control.at:
            return whole(int(low), int(high))
        return rules.number(float(low), float(high))
    return rules.words(control.longest) if control.kind == "text" else one_of(options(control, of))


def controls(view: type[View] | View) -> dict[str, Control]:
    """By the names of its fields, in their order, as its settings leave them; those of a class as the usual ones do."""
    own = view() if isinstance(view, type) else view
    return {part.name: _after(part.metadata["control"], own) for part in fields(view) if "control" in part.metadata}


def _after(control: Control, view: View) -> Control:
    if not control.follows:
        return control
    bound = {
        name: partial(made, view=view)
        for name in ("options", "low", "high", "at", "examples")
        if callable(made := getattr(control, name))
    }
    return replace(control, **bound)


def changed(view: View) -> dict[str, Any]:
    """The settings that are not as usual, by name."""
    parts = ((part.name, getattr(view, part.name), part.default) for part in fields(view) if "control" in part.metadata)
    return {name: value for name, value, default in parts if value != default}


def checked(view: V, of: Subjects) -> V:
    """The view, with every setting one that these subjects have. Raises ControlError with a sentence for the first that
    is not; a layer or head beyond a model's own becomes its last, for another model beside it may have it."""
    for name in controls(view):
        control, value = controls(view)[name], getattr(view, name)  # as what has been checked leaves it
        asked = control.when is None or control.when(view)
        if asked and value is not None and control.kind in ("layer", "head"):
            last = int(control.ends(of)[1])
            value, asked = min(value, max(1, last)), last > 0  # of a model that has none the view itself says so
        view = replace(view, **{name: setting(view, name, value, of if asked else None)})
    return view


def refuse_beyond(view: View, of: Subjects) -> None:
    """Of somebody who asks now. Raises ControlError for a layer or a head beyond those of all these subjects, which
    `checked` takes for the last."""
    for name, control in controls(view).items():
        if control.kind in ("layer", "head") and (value := getattr(view, name)) is not None:
            asked = (control.when is None or control.when(view)) and control.ends(of)[1] > 0
            if asked and (sentence := refusal(control, value, of)):
                raise ControlError(f"{name} {sentence}")


def setting(view: type[View] | View, name: str, value: Any, of: Subjects | None = None) -> Any:
    """The value of a field, of the field's own type. Raises ControlError where these subjects do not have it, or
    without them, where none can."""
    control = controls(view)[name]
    if control.meant is not None and type(value) is int:
        value = f"class {value}"
    if control.meant is not None and of is not None and isinstance(value, str):
        value = control.meant(of, value)
    elif value is not None and (sentence := refusal(control, value, of)):
        raise ControlError(f"{name} {sentence}")
    try:
        return read_fields(view if isinstance(view, type) else type(view), {name: value})[name]
    except ReportError:
        raise ControlError(f"{name} cannot be {_short(value)}.") from None


def refusal(control: Control, value: Any, of: Subjects | None) -> str:
    """What is wrong with a value, after the name of its field; "" for one that can be read as it is. Without subjects
    what depends on them is not asked."""
    if control.kind == "text":
        return f"has at most {control.longest} characters." if len(str(value)) > control.longest else ""
    if control.kind in ("number", "layer", "head"):
        low, high = control.ends(of) if of is not None else (_said(control.low, -inf), _said(control.high, inf))
        fits = isinstance(value, int | float) and low <= value <= high
        places = () if of is None and callable(control.at) else control.places(of or ())
        if fits and places and value not in places:
            return f"is one of {', '.join(f'{each:,g}' for each in places)}, not {_short(value)}."
        return "" if fits else f"is a number from {low:g}{'' if high == inf else f' to {high:g}'}, not {_short(value)}."
    if control.kind == "folder":
        there = not value or of is None or any(value in each.folders for each in of)
        return "" if there else "is no folder that is offered here."
    if control.kind == "switch" or (control.kind == "query" and isinstance(value, tuple)):
        return ""  # whether the grid has such a cell, the view says
    if of is None and callable(control.options):
        return ""
    known = options(control, of or ())
    strange = [each for each in (value if isinstance(value, tuple) else (value,)) if each not in known]
    named = ", ".join(known[:12]) + (" …" if len(known) > 12 else "")
    return f"cannot be {_short(strange[0])}: there are {named}." if strange else ""


def _said(end: End, otherwise: float) -> int | float:
    return otherwise if callable(end) else end


def _short(value: object) -> str:
    return repr(value)[:60]
