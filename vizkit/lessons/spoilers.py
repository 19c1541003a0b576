"""What a lesson tells before it asks: in a text, in the words of a figure, or as the very map.

A question is about quantities: its answer, or what its options and items compare. A text tells one where it shows the
same expression, or its number with three digits, its unit or of how many; so do the words of a figure. A figure tells a
place where its map is that of the question.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.lessons.expressions import Expression, LessonError, bound
from vizkit.lessons.lesson import Lesson, Question, Step
from vizkit.lessons.prose import Prose
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Bars, Block, Blocks, Canvas, Chart, Grid, Heading, Later, Line, Map, Said, Tiles

if TYPE_CHECKING:
    from vizkit.views.subject import Subject

NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
LONGEST = 400  # characters of a text among the data of a canvas; longer ones are numbers
ALIKE = 1 - 1e-6  # the correlation of two maps that are one
DIGITS = 3  # that make a number the same one, and no chance


@dataclass(frozen=True, eq=False)
class Asked:
    """A later question: `keys`: how its quantities are called, all of which tell it; `values`: what they are; of a
    place the `map`."""

    number: int
    keys: tuple[str, ...]
    values: tuple[float, ...] = ()
    unit: str = ""
    map: np.ndarray | None = None

    def told_by(self, words: str, unit: bool = True) -> bool:
        """`unit`: whether a number of fewer digits is meant where its unit follows."""
        return bool(self.values) and all(_stands_in(words, each, self.unit if unit else "") for each in self.values)

    def drawn_by(self, block: Block) -> bool:
        """Whether a figure has this map, or all these numbers on its axes."""
        if self.map is not None:
            return any(_same(self.map, each) for each in _maps(block))
        drawn, broken = _numbers(block), [value for value in self.values if not value.is_integer()]
        return bool(broken) and all(np.isclose(drawn, value, rtol=1e-6).any() for value in broken)


def asked(step: Step, number: int, of: "Subject") -> Asked | None:
    """None of a step without a question, or where this model has no answer."""
    question = step.question
    if question is None:
        return None
    try:
        if question.kind in ("point", "draw"):
            assert question.answer is not None
            values = np.asarray(question.answer.value(of), float).clip(min=0)
            place = ast.parse(f"largest({ast.unparse(question.answer.tree)})", mode="eval").body
            return Asked(number, (_called(place),), map=values)
        parts = _quantities(question)
        found = [part.value(of) for part in parts]
    except (LessonError, NotApplicable):
        return None
    numbers = tuple(float(each) for each in found if isinstance(each, int | float))
    keys = tuple(_called(part.tree) for part in parts)
    return Asked(number, keys, numbers if len(numbers) == len(found) else (), question.unit)


def asked_after(lesson: Lesson, number: int, subject: "Callable[[Step], Subject]") -> list[Asked]:
    """The questions after a step of this number, each of the subject that it asks."""
    after = [(at, step) for at, step in lesson.questions if at > number]
    return [found for at, step in after if (found := asked(step, at, subject(step)))]


def _quantities(question: Question) -> list[Expression]:
    """What is measured to answer it."""
    if question.kind != "choice":
        return question.expressions
    compared = [node for part in question.expressions for node in ast.walk(part.tree) if isinstance(node, ast.Compare)]
    sides = [side for node in compared for side in (node.left, *node.comparators) if not isinstance(side, ast.Constant)]
    unlike = {ast.dump(side): Expression(ast.unparse(side), question.line, side) for side in sides}
    return [*unlike.values()]


def _called(node: ast.expr) -> str:
    """An expression with every argument named, so that the same is written alike; as it stands where its function is
    not known, or takes no such arguments."""
    if isinstance(node, ast.Call):
        try:
            arguments = bound(node).arguments
        except (LessonError, TypeError):
            return ast.unparse(node)
        said = (f"{name}={_called(each) if isinstance(each, ast.expr) else each}" for name, each in arguments.items())
        return f"{ast.unparse(node.func)}({', '.join(said)})"
    if isinstance(node, ast.BinOp):
        return f"({_called(node.left)} {type(node.op).__name__} {_called(node.right)})"
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


# ---- where it is told ------------------------------------------------------------------------------------------------
def spoilers(lesson: Lesson, subjects: Mapping[int, "Subject"], figures: Mapping[int, list[Block]]) -> Iterator[str]:
    """A sentence for each. By the numbers of the steps `subjects`, whom they ask, and `figures`, what they show."""
    steps = dict(enumerate(lesson.steps, 1))
    later = {at: each for at, step in steps.items() if (each := asked(step, at, subjects[at]))}
    told = dict[str, int]()  # how a quantity is called, and the step that shows it first
    for at, step in steps.items():
        last = [(what, text) for what, text in step.texts if what in ("reveal", "why")]
        for texts, first in ((step.texts[: len(step.texts) - len(last)], at), (last, at + 1)):
            if first > at and (asks := later.get(at)) and all(key in told for key in asks.keys):
                yield _sentence(steps[max(told[key] for key in asks.keys)], "its text", asks)
            for what, text in texts:
                for expression, _ in text.values:
                    told.setdefault(_called(expression.tree), at)
                said = _filled(text, subjects[at])
                for question in (each for each in later.values() if each.number >= first and what != "option"):
                    if question.number != at and question.told_by(said):
                        yield _sentence(step, f"its {what}", question)
        after = [each for each in later.values() if each.number > at]
        for block in withheld(iter(figures.get(at, ())), after):
            for question in after:
                if question.told_by(" · ".join(_words(block)), unit=False) or question.drawn_by(block):
                    yield _sentence(step, "what it shows", question)


def withheld(blocks: Blocks, later: Iterable[Asked]) -> Blocks:
    """Blocks without the sentences that tell what is asked later."""
    later = list(later)

    def tells(said: str) -> bool:
        return any(each.told_by(said) for each in later)

    for block in blocks:
        if isinstance(block, Later):
            yield replace(block, show=lambda done, show=block.show: withheld(iter(show(done)), later))
        elif isinstance(block, Map):
            bars = tuple(bar for bar in block.bars if not tells(f"{bar[1]}"))
            yield replace(block, said="" if tells(block.said) else block.said, said_by={}, bars=bars)
        elif not isinstance(block, Said | Line | Heading) or not tells(block.text):
            yield block


def _sentence(step: Step, what: str, question: Asked) -> str:
    return f"Line {step.line}: {step.title}: {what} tells what step {question.number} asks."


def _filled(text: Prose, of: "Subject") -> str:
    """Without measured numbers that another quantity may have by chance: shares, and those of few digits."""
    try:
        filled = text.filled(of, guess=0, answer=0)
    except (LessonError, NotApplicable):
        return ""
    return text.words(["" if "%" in each or len(re.sub(r"\D", "", each)) < DIGITS else each for each in filled])


def _stands_in(words: str, value: float, unit: str) -> bool:
    for found in NUMBER.finditer(words):
        text, after = found[0].replace(",", "").replace("−", "-"), words[found.end() :].lstrip()
        share, places = after.startswith("%"), len(text.partition(".")[2].partition("e")[0])
        try:
            same = round(value * (100 if share else 1), places) == float(text)
        except OverflowError:
            continue
        count = float(value).is_integer()
        digits = len(str(abs(int(value))) if count else text.lstrip("-0.").replace(".", ""))
        if share and text in ("0", "100", "100.0"):  # of whatever is nothing, or all
            continue
        named = unit and not share and after.startswith((unit, "of ") if count else unit)
        if same and (named or digits >= DIGITS or (share and digits > 1)):
            return True
    return False


def _words(block: Block) -> Iterator[str]:
    """All that can be read in a figure."""
    data = block.data if isinstance(block, Canvas) else vars(block)
    yield from _texts({name: each for name, each in data.items() if name not in ("rows", "figure", "still", "alt")})
    if isinstance(block, Chart):
        figure = block.figure.to_dict()
        yield from _texts([figure["layout"].get("annotations"), figure["layout"].get("title")])
        yield from _texts([trace.get("text") for trace in figure["data"]])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and len(value) <= LONGEST:
        yield value
    elif isinstance(value, Mapping):
        yield from (text for part in value.values() for text in _texts(part))
    elif isinstance(value, list | tuple):
        yield from (text for part in value for text in _texts(part))


def _numbers(block: Block) -> np.ndarray:
    """Along its axes."""
    values: list[Any] = []
    if isinstance(block, Chart):
        values = [trace.get(axis) for trace in block.figure.to_plotly_json()["data"] for axis in "xyz"]
    elif isinstance(block, Bars):
        values = [block.bars.values]
    arrays = [np.ravel(np.asarray(each)) for each in values if each is not None]
    return np.concatenate([each.astype(float) for each in arrays if each.dtype.kind in "iuf"] or [np.zeros(0)])


def _maps(block: Block) -> Iterator[np.ndarray]:
    if isinstance(block, Map):
        yield block.rows.row_of(block.rows.query_id(block.query))[0]
    elif isinstance(block, Tiles):
        yield from (each.values for each in block.maps)
    elif isinstance(block, Grid):
        yield from (tile.values for tile, _ in block.cells)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape or not np.ptp(one) or not np.ptp(np.nan_to_num(other)):
        return False
    return abs(float(np.corrcoef(one.ravel(), np.nan_to_num(other).ravel())[0, 1])) > ALIKE
