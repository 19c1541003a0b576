"""A lesson as its Markdown file says it: what is in front, and steps between lines of three dashes.

A step has a title (`## …`), prose, and from the first line that begins with one of `KEYS` and a colon its settings as
YAML to its end. Of YAML only its mappings, lists and texts are read: no aliases, no tags, no types.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from vizkit.from_json import HALVES
from vizkit.lessons.expressions import Expression, LessonError, called, parse
from vizkit.lessons.prose import Prose, prose
from vizkit.views import VIEWS, bundled, class_of
from vizkit.views.controls import ControlError, controls, setting

if TYPE_CHECKING:
    from vizkit.views.subject import Subject
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
LIMITS = {"cosine": (-1.0, 1.0), "rank correlation": (-1.0, 1.0)}
"""What a number can be that is one of these, in place of a unit."""
_SETTINGS = re.compile(rf"^({'|'.join(KEYS)}):", re.MULTILINE)
_MODEL = re.compile(r"[A-Za-z]\w*(\.\w+)?")  # of timm; never a path
_WITHIN = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(%|(?!\.|[eE][\d+-])[^\d\s].*)?")


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
    """A view by its name in `VIEWS`, with its settings, of which some are measured; on a stage."""

    name: str
    settings: Mapping[str, Any]
    line: int

    @property
    def measured(self) -> dict[str, Expression]:
        """The settings that are."""
        return {name: value for name, value in self.settings.items() if isinstance(value, Expression)}

    @cached_property
    def view(self) -> "View":
        """With the settings that need no model. LessonError for one that it does not have."""
        return self._set({name: value for name, value in self.settings.items() if name not in self.measured})

    def set_for(self, of: "Subject") -> "View":
        """As it is set for this model and picture. LessonError, NotApplicable."""
        found = {name: each.value(of) for name, each in self.measured.items()}
        steps = {name: control.step for name, control in controls(class_of(self.name)).items()}
        whole = {
            name: round(each) for name, each in found.items() if type(steps[name]) is int and isinstance(each, float)
        }
        return self._set({**self.settings, **found, **whole})

    def _set(self, settings: Mapping[str, Any]) -> "View":
        cls = class_of(self.name)
        try:
            for name in self.settings:
                if name not in controls(cls):
                    raise ControlError(f"{self.name} has no setting {name}; it has {', '.join(controls(cls))}.")
            return cls(**{name: setting(cls, name, value) for name, value in settings.items()}, staged=True)
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
    def called(self) -> str:
        """Its title, with its number where its file has one."""
        number = re.match(r"\d+(?=_)", self.name)
        return f"Lesson {number[0]} · {self.title}" if number else self.title

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


class Text(str):
    """A text of the file, with the line where it begins."""

    line: int = 0


# ---- what is in front ------------------------------------------------------------------------------------------------
def _front(text: str, line: int) -> Lesson:
    from vizkit.datasets import samples

    given = _settings(text, line, FRONT)
    if missing := [name for name in FRONT if name not in given]:
        raise LessonError(f"In front is no {missing[0]}.", line - 1)
    title, level, minutes, model, picture = (_text(given, name) for name in FRONT[:-1])
    name = picture.removeprefix("sample:")
    if level not in get_args(Level):
        raise LessonError(f"level is one of {', '.join(get_args(Level))}.", level.line)
    if not re.fullmatch(r"[1-9]\d{0,2}", minutes):
        raise LessonError("minutes is a whole number.", minutes.line)
    if name == picture or name not in samples.names():
        raise LessonError(f"picture is sample: and one of {', '.join(samples.names())}; no path.", picture.line)
    able = given["able"]
    if not isinstance(able, list) or not able or not all(isinstance(each, Text) for each in able):
        raise LessonError("able is a list of sentences.", line)
    said = tuple(prose(each, each.line, inline=True).words() for each in able)
    grade = next(each for each in get_args(Level) if each == level)
    return Lesson(prose(title, title.line, inline=True).words(), grade, int(minutes), _model(model), name, said, ())


def _model(text: Text) -> str:
    if text not in bundled.names() and not _MODEL.fullmatch(text):
        raise LessonError(f"A model is one of timm, or {', '.join(bundled.names())}; no path.", text.line)
    return str(text)


# ---- a step ----------------------------------------------------------------------------------------------------------
def _step(text: str, line: int) -> Step:
    found = _SETTINGS.search(text)
    above, below = (text, "") if found is None else (text[: found.start()], text[found.start() :])
    titled = re.match(r"\s*## +([^\n]+)\n?", above)
    if titled is None:
        raise LessonError("A step begins with its title: ## and words.", line)
    at = line + above[: titled.start(1)].count("\n")
    given = _settings(below, line + above.count("\n"), KEYS) if below.strip() else {}
    question = _question(given)
    for name in ("answer", "options", "items", "within", "unit", "hint"):
        if name in given and question is None:
            raise LessonError(f"{name} belongs to a question.", _line(given, name))
    hint, reveal, why = (_prose(_text(given, name)) if name in given else None for name in ("hint", "reveal", "why"))
    return Step(
        prose(titled[1].strip(), at, inline=True).words(),
        at,
        prose(above[titled.end() :], line + titled[0].count("\n"), _pages()),
        _look(_text(given, "view")) if "view" in given else None,
        question,
        hint,
        reveal,
        why,
        _model(_text(given, "model")) if "model" in given else "",
        _expression(_text(given, "mark")) if "mark" in given else None,
    )


def _look(text: Text) -> Look:
    name, settings = called(text, text.line)
    name = name if name in VIEWS else name.replace("_", "-")  # a hyphen is a minus in an expression
    if name not in VIEWS:
        near = get_close_matches(name, VIEWS, n=3) or ["rollout"]
        raise LessonError(f"There is no view {name}; the nearest: {', '.join(near)}.", text.line)
    return Look(name, settings, text.line)


def _question(given: Mapping[Any, Any]) -> Question | None:
    kinds: list[Kind] = [kind for kind in KINDS if kind in given]
    if not kinds:
        return None
    kind, text = kinds[0], _text(given, kinds[0])
    needs = {"choice": "options", "order": "items"}.get(kind, "answer")
    fit = {"number": ("within", "unit"), "point": ("unit",)}.get(kind, ())
    unlike = [name for name in ("within", "unit") if name in given and name not in fit]
    if len(kinds) > 1 or unlike:
        raise LessonError(f"A question of kind {kind} has no {(kinds[1:] or unlike)[0]}.", text.line)
    if [name for name in ("answer", "options", "items") if name in given] != [needs]:
        raise LessonError(f"A question of kind {kind} has {needs}, and no other answer.", text.line)
    asked = Question(kind, _prose(text), text.line)
    if needs != "answer":
        parts = given[needs]
        if not isinstance(parts, dict) or not 2 <= len(parts) <= MOST_OPTIONS:
            raise LessonError(
                f"{needs} has 2 to {MOST_OPTIONS} lines, each a text, a colon and an expression.", text.line
            )
        return replace(asked, parts=tuple((_prose(name), _expression(_text(parts, name))) for name in parts))
    unit = str(_text(given, "unit")) if "unit" in given else ""
    asked = replace(asked, answer=_expression(_text(given, "answer")), unit=SHARE if unit == "%" else unit)
    if "within" not in given:
        return asked
    if (within := _WITHIN.fullmatch(_text(given, "within"))) is None:
        raise LessonError("within is 0.1 or 10%, of the answer, or 2 patches, in its unit.", _line(given, "within"))
    absolute = within[2] not in (None, "%")
    share = 0.01 if within[2] == "%" or (absolute and asked.unit == SHARE) else 1.0
    return replace(asked, within=float(within[1]) * share, relative=not absolute)


def _prose(text: Text) -> Prose:
    return prose(text, text.line, _pages())


def _expression(text: Text) -> Expression:
    return parse(text, text.line)


def _pages() -> Sequence[str]:
    return tuple(dict.fromkeys(entry.page for entry in VIEWS.values()))


# ---- YAML ------------------------------------------------------------------------------------------------------------
def _settings(text: str, line: int, known: Sequence[str]) -> dict[Any, Any]:
    """A mapping of texts, lists and mappings, by these names."""
    import yaml

    if len(text) > MOST_SETTINGS:
        raise LessonError(f"The settings of a step have at most {MOST_SETTINGS} characters.", line)
    if text.count("[") + text.count("{") > MOST_BRACKETS:  # of as many within one another YAML thinks for minutes
        raise LessonError("There are too many brackets in these settings.", line)
    text = "\n" * (line - 1) + text  # so that lines have their numbers of the file
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                where = event.start_mark.line + 1 if event.start_mark else line
                raise LessonError("Anchors (&), aliases (*) and tags (!) are refused: put the text in quotes.", where)
        tree = _tree(yaml.compose(text, yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or "this is no YAML"
        advice = "a text with a colon, or with braces in front, stands in quotes or below >"
        raise LessonError(f"{problem}; {advice}.", mark.line + 1 if mark else line) from None
    except RecursionError:
        raise LessonError("Too much within one another.", line) from None
    if not isinstance(tree, dict):
        raise LessonError("Here stand names with a colon, and what belongs to them.", line)
    if strange := next((name for name in tree if name not in known), None):
        raise LessonError(f"Nothing is called {strange[:40]}; there are {', '.join(known)}.", strange.line)
    return tree


def _tree(node: Any) -> Any:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return list(map(_tree, node.value))
    if isinstance(node, yaml.MappingNode):
        found = dict[Text, Any]()
        for key, value in node.value:
            name = _tree(key)
            if not isinstance(name, Text) or name in found:
                raise LessonError("Every name is a text, and stands here once.", key.start_mark.line + 1)
            found[name] = _tree(value)
        return found
    text = Text(node.value if node is not None else "")
    text.line = node.start_mark.line + 1 + (node.style in ("|", ">")) if node is not None else 0
    if HALVES.search(text):
        raise LessonError("Half of a character (\\ud800 to \\udfff) is none.", text.line)
    return text


def _line(given: Mapping[Any, Any], name: str) -> int:
    return next(key.line for key in given if key == name)


def _text(given: Mapping[Any, Any], name: str) -> Text:
    text = given[name]
    if not isinstance(text, Text) or not text.strip():
        raise LessonError(f"{name[:40]} is a text; one with a colon in it in quotes.", _line(given, name))
    return text
