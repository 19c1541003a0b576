"""A lesson as its Markdown file says it: what is in front, and steps between lines of three dashes.

A step has a title (`## …`), prose, and from the first line that begins with one of `KEYS` and a colon its settings as
YAML to its end. Of YAML only its mappings, lists and texts are read: no aliases, no tags, no types.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from vizkit.lessons.expressions import Expression, LessonError, called, parse
from vizkit.lessons.prose import Prose, prose
from vizkit.views import VIEWS, bundled, class_of
from vizkit.views.controls import ControlError, controls, setting

if TYPE_CHECKING:
    from yaml.nodes import Node

    from vizkit.views.view import View

Kind = Literal["point", "draw", "number", "choice", "order"]
Level = Literal["beginner", "intermediate", "advanced"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FRONT = ("title", "level", "minutes", "model", "picture", "able")
KEYS = ("view", "model", "mark", *KINDS, "answer", "within", "unit", "options", "items", "hint", "reveal", "why")
MOST_BYTES, MOST_STEPS, MOST_SETTINGS, MOST_OPTIONS = 120_000, 40, 8_000, 8
MOST_BRACKETS = 200
SHARE = "percent"
"""The unit of a share of one: readers see and type it as per cent."""
_SETTINGS = re.compile(rf"^({'|'.join(KEYS)}):", re.MULTILINE)
_MODEL = re.compile(r"[A-Za-z]\w*(\.\w+)?")  # of timm; never a path
_WITHIN = re.compile(r"(\d+(?:\.\d+)?)\s*(%|[^\d\s].*)?")


@dataclass(frozen=True)
class Question:
    """`answer`: of a point or a drawing a map, of a number a number. `parts`: of a choice its options with their
    conditions, of an order its items with their numbers. `within`: how far a number may lie off, a share of the answer
    where `relative`, else in its unit."""

    kind: Kind
    asks: Prose
    line: int
    answer: Expression | None = None
    parts: tuple[tuple[Prose, Expression], ...] = ()
    within: float = 0.1
    relative: bool = True
    unit: str = ""

    @property
    def expressions(self) -> list[Expression]:
        return [*filter(None, [self.answer]), *(expression for _, expression in self.parts)]


@dataclass(frozen=True)
class Look:
    """A view by its name in `VIEWS`, with its settings."""

    name: str
    settings: Mapping[str, Any]
    line: int

    @cached_property
    def view(self) -> "View":
        """LessonError for a setting that it does not have."""
        cls = class_of(self.name)
        try:
            for name in self.settings:
                if name not in controls(cls):
                    raise ControlError(f"{self.name} has no setting {name}; it has {', '.join(controls(cls))}.")
            return cls(**{name: setting(cls, name, value) for name, value in self.settings.items()})
        except ControlError as sentence:
            raise LessonError(str(sentence), self.line) from None


@dataclass(frozen=True)
class Step:
    """`model`: that this step is about, where it is not that of the lesson. `mark`: a place that is framed in the
    picture, that of the cursor where it is the word patch."""

    title: str
    line: int
    prose: Prose
    look: Look | None = None
    question: Question | None = None
    hint: Prose | None = None
    reveal: Prose | None = None
    why: Prose | None = None
    model: str = ""
    mark: Expression | None = None

    @property
    def texts(self) -> list[tuple[str, Prose]]:
        """Every text by what it is; those of the answer last, which know `guess` and `answer`."""
        asked = [("question", self.question.asks)] if self.question else []
        options = [("option", text) for text, _ in self.question.parts] if self.question else []
        named = [("hint", self.hint), ("why", self.why), ("reveal", self.reveal)]
        return [("text", self.prose), *asked, *options, *((what, text) for what, text in named if text is not None)]


@dataclass(frozen=True)
class Lesson:
    """`name`: in an address, that of its file. `able`: what a reader can say afterwards."""

    title: str
    level: Level
    minutes: int
    model: str
    picture: str
    able: tuple[str, ...]
    steps: tuple[Step, ...]
    name: str = ""

    @property
    def questions(self) -> list[tuple[int, Step]]:
        """Steps that ask something, by their numbers from 1."""
        return [(number, step) for number, step in enumerate(self.steps, 1) if step.question]


def read(text: str | bytes, name: str = "") -> Lesson:
    """Raises LessonError with the line of the first thing that a lesson may not have."""
    if len(text) > MOST_BYTES:
        raise LessonError(f"A lesson has at most {MOST_BYTES // 1000} kB.")
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = bytes(error.object[: error.start]).count(b"\n") + 1
        raise LessonError("This is no UTF-8 text.", where) from None
    lines = text.replace("\r\n", "\n").split("\n")
    breaks = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if not breaks or any(line.strip() for line in lines[: breaks[0]]):
        raise LessonError("A lesson begins with a line of three dashes, its title and what else is in front.", 1)
    if len(breaks) < 2:
        raise LessonError("What is in front ends with a line of three dashes.", len(lines))
    ends = [*breaks[2:], len(lines)]
    parts = [(start + 2, "\n".join(lines[start + 1 : end])) for start, end in zip(breaks[1:], ends, strict=True)]
    if len(parts) > MOST_STEPS:
        raise LessonError(f"A lesson has at most {MOST_STEPS} steps.", parts[MOST_STEPS][0])
    front = _front("\n".join(lines[breaks[0] + 1 : breaks[1]]), breaks[0] + 2)
    return replace(front, name=name, steps=tuple(_step(part, line) for line, part in parts))


# ---- what is in front ------------------------------------------------------------------------------------------------
def _front(text: str, line: int) -> Lesson:
    from vizkit.datasets import samples

    given = dict(_mapping(_yaml(text, line)))
    for name in given:
        _known(name, FRONT, given[name])
    if missing := [name for name in FRONT if name not in given]:
        raise LessonError(f"In front is no {missing[0]}.", line - 1)
    said = {name: _text(given[name]) for name in FRONT if name != "able"}
    at = {name: _at(given[name]) for name in FRONT}
    if said["level"] not in get_args(Level):
        raise LessonError(f"level is one of {', '.join(get_args(Level))}.", at["level"])
    if not re.fullmatch(r"[1-9]\d{0,2}", said["minutes"]):
        raise LessonError("minutes is a whole number.", at["minutes"])
    picture = said["picture"].removeprefix("sample:")
    if said["picture"] == picture or picture not in samples.names():
        raise LessonError(f"picture is sample: and one of {', '.join(samples.names())}; no path.", at["picture"])
    able = tuple(_sentence(part) for part in _items(given["able"]))
    title = _sentence(given["title"])
    return Lesson(title, _level(said["level"]), int(said["minutes"]), _model(given["model"]), picture, able, ())


def _level(text: str) -> Level:
    return next(level for level in get_args(Level) if level == text)


def _model(node: "Node") -> str:
    model = _text(node)
    if model not in bundled.names() and not _MODEL.fullmatch(model):
        raise LessonError(f"A model is one of timm, or {', '.join(bundled.names())}; no path.", _at(node))
    return model


# ---- a step ----------------------------------------------------------------------------------------------------------
def _step(text: str, line: int) -> Step:
    found = _SETTINGS.search(text)
    above, below = (text, "") if found is None else (text[: found.start()], text[found.start() :])
    titled = re.match(r"\s*## +([^\n]+)\n?", above)
    if titled is None:
        raise LessonError("A step begins with its title: ## and words.", line)
    at = line + above[: titled.start(1)].count("\n")
    title = prose(titled[1].strip(), at, inline=True).words()
    given = dict(_mapping(_yaml(below, line + above.count("\n")))) if below.strip() else {}
    for name in given:
        _known(name, KEYS, given[name])

    look = _look(given["view"]) if "view" in given else None
    question = _question(given)
    if question is None and (
        strange := next((name for name in ("answer", "within", "unit", "hint") if name in given), "")
    ):
        raise LessonError(f"{strange} belongs to a question.", _at(given[strange]))
    body = prose(above[titled.end() :], line + titled[0].count("\n"), _pages())
    hint, reveal, why = (_prose(given[name]) if name in given else None for name in ("hint", "reveal", "why"))
    model = _model(given["model"]) if "model" in given else ""
    mark = parse(_text(given["mark"]), _at(given["mark"])) if "mark" in given else None
    return Step(title, at, body, look, question, hint, reveal, why, model, mark)


def _look(node: "Node") -> Look:
    line = _at(node)
    name, settings = called(_text(node), line)
    name = name if name in VIEWS else name.replace("_", "-")  # a hyphen is a minus in an expression
    if name not in VIEWS:
        near = get_close_matches(name, VIEWS, n=3) or ["rollout"]
        raise LessonError(f"There is no view {name}; the nearest: {', '.join(near)}.", line)
    return Look(name, settings, line)


def _question(given: "Mapping[str, Node]") -> Question | None:
    kinds: list[Kind] = [kind for kind in KINDS if kind in given]
    if not kinds:
        return None
    kind = kinds[0]
    node, at = given[kind], _at(given[kind])
    if len(kinds) > 1:
        raise LessonError("A step asks one question.", _at(given[kinds[1]]))
    needs = {"choice": "options", "order": "items"}.get(kind, "answer")
    for name in ("answer", "options", "items"):
        if (name == needs) != (name in given):
            raise LessonError(f"A question of kind {kind} has {needs}, and no other answer.", at)
    asked = Question(kind, _prose(node), at)
    if needs == "answer":
        asked = replace(asked, answer=parse(_text(given["answer"]), _at(given["answer"])))
    else:
        asked = replace(asked, parts=_parts(given[needs]))
    if kind != "number":
        if strange := next((name for name in ("within", "unit") if name in given), ""):
            raise LessonError(f"{strange} belongs to a number.", _at(given[strange]))
        return asked
    unit = _sentence(given["unit"]) if "unit" in given else ""
    asked = replace(asked, unit=SHARE if unit == "%" else unit)
    if "within" in given:
        within = _WITHIN.fullmatch(_text(given["within"]))
        if within is None:
            raise LessonError("within is 0.1 or 10%, of the answer, or 2 patches, in its unit.", _at(given["within"]))
        absolute = within[2] not in (None, "%")
        share = 0.01 if within[2] == "%" or (absolute and asked.unit == SHARE) else 1.0
        asked = replace(asked, within=float(within[1]) * share, relative=not absolute)
    return asked


def _parts(node: "Node") -> tuple[tuple[Prose, Expression], ...]:
    parts = [(prose(name, _at(value), inline=True), parse(_text(value), _at(value))) for name, value in _mapping(node)]
    if not 2 <= len(parts) <= MOST_OPTIONS:
        raise LessonError(f"There are 2 to {MOST_OPTIONS} of them.", _at(node))
    return tuple(parts)


def _prose(node: "Node") -> Prose:
    below = getattr(node, "style", None) in ("|", ">")  # it begins in the next line
    return prose(_text(node), _at(node) + below, _pages())


def _pages() -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.page for entry in VIEWS.values()))


# ---- YAML ------------------------------------------------------------------------------------------------------------
def _yaml(text: str, line: int) -> "Node":
    """The tree of a mapping; nothing is made of it but texts."""
    import yaml

    if len(text) > MOST_SETTINGS:
        raise LessonError(f"The settings of a step have at most {MOST_SETTINGS} characters.", line)
    if text.count("[") + text.count("{") > MOST_BRACKETS:  # of as many within one another YAML thinks for minutes
        raise LessonError("There are too many brackets in these settings.", line)
    if "\t" in text:
        raise LessonError("YAML has no tabs.", line + text[: text.index("\t")].count("\n"))
    text = "\n" * (line - 1) + text  # so that lines have their numbers of the file
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                where = event.start_mark.line + 1 if event.start_mark else line
                raise LessonError("Anchors (&), aliases (*) and tags (!) are refused: put the text in quotes.", where)
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or "this is no YAML"
        advice = "a text with a colon, or with braces in front, stands in quotes or below >"
        raise LessonError(f"{problem}; {advice}.", mark.line + 1 if mark else line) from None
    except RecursionError:
        raise LessonError("Too much within one another.", line) from None
    if not isinstance(node, yaml.MappingNode):
        raise LessonError("Here stand names with a colon, and what belongs to them.", line)
    return node


def _mapping(node: "Node") -> "Iterator[tuple[str, Node]]":
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise LessonError("Here stand names with a colon, and what belongs to them.", _at(node))
    seen = set[str]()
    for key, value in node.value:
        name = _text(key)
        if name in seen:
            raise LessonError(f"{name[:60]} stands here twice.", _at(key))
        seen.add(name)
        yield name, value


def _items(node: "Node") -> "list[Node]":
    import yaml

    if not isinstance(node, yaml.SequenceNode) or not 1 <= len(node.value) <= MOST_OPTIONS:
        raise LessonError(f"This is a list of 1 to {MOST_OPTIONS} sentences.", _at(node))
    return node.value


def _text(node: "Node") -> str:
    import yaml

    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        raise LessonError("Here stands a text; one with a colon in it in quotes.", _at(node))
    return node.value


def _sentence(node: "Node") -> str:
    """Plain words."""
    return prose(_text(node), _at(node), inline=True).words()


def _at(node: "Node") -> int:
    return node.start_mark.line + 1


def _known(name: str, known: tuple[str, ...], node: "Node") -> None:
    if name not in known:
        raise LessonError(f"Nothing is called {name[:40]}; there are {', '.join(known)}.", _at(node))
