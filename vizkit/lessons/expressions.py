"""The language of answers: numbers, words, and functions of a model and a picture, read by Python's own parser and
worked out here, node by node. Nothing is evaluated as Python.

    parse("100 * share(attention(layer=last, head=mean, query=cls), guess)").value(of, guess=(3, 4))

A bare word among the arguments of a function stands for itself (`cls`), `guess` and `answer` for what they are; other
words are refused. NotApplicable of a function passes through.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import BoundArguments, signature
from typing import TYPE_CHECKING, Any

from vizkit.from_json import HALVES, ReportError

if TYPE_CHECKING:
    from vizkit.views.subject import Subject

LONGEST = 600  # characters
LARGEST, MOST_EXPONENT = 1e15, 12
GIVEN = ("guess", "answer")
"""What a question gives its expressions by name."""
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
ALLOWED = (ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.BinOp, ast.Compare, ast.And)
ALLOWED += (ast.BoolOp, ast.Or, ast.IfExp, ast.Call, ast.keyword, ast.Tuple, ast.List, *OPERATORS)
FAILS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError)
_FORMAT = re.compile(r"\+?,?(\.\d)?[%dfeg]?")


class LessonError(ReportError):
    """A lesson cannot be read, or not be answered; one sentence, which names the line of the file."""

    def __init__(self, sentence: str, line: int = 0) -> None:
        super().__init__(f"Line {line}: {sentence}" if line else sentence)
        self.line = line


@dataclass(frozen=True)
class Expression:
    """`text` as it was written, `line` where it stands."""

    text: str
    line: int
    tree: ast.expr

    def value(self, of: "Subject", **given: Any) -> Any:
        """A number, a text, a place (row, column) from 0, a map, or whatever else the functions give.

        Raises LessonError for what cannot be worked out, and NotApplicable as the functions do."""
        from vizkit.traces import NotApplicable

        try:
            return _Run(of, given).value(self.tree)
        except NotApplicable:
            raise
        except FAILS as error:
            said = str(error).partition("\n")[0][:200] or type(error).__name__
            said = said if isinstance(error, LessonError) else f"“{self.text}” cannot be worked out: {said}"
            raise LessonError(said, self.line) from None

    def says(self, name: str) -> bool:
        """Whether this word stands in it."""
        return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(self.tree))

    def proven(self) -> None:
        """LessonError for a function that there is not, or that does not take these arguments, also where no value
        would come that way."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                try:
                    bound(node)
                except (LessonError, TypeError) as error:
                    raise LessonError(f"“{ast.unparse(node)[:60]}”: {error}", self.line) from None


def parse(text: str, line: int = 0) -> Expression:
    """LessonError for what is no expression, or has something in it that none may have."""
    text = " ".join(text.split())
    if len(text) > LONGEST:
        raise LessonError(f"An expression has at most {LONGEST} characters.", line)
    try:
        tree = ast.parse(text, mode="eval").body
        unsafe = next((ast.unparse(node) or type(node).__name__ for node in ast.walk(tree) if not _harmless(node)), "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise LessonError(f"“{text[:80]}” is no expression.", line) from None
    if unsafe:
        raise LessonError(f"“{unsafe[:60]}” may not stand in an expression: numbers, words and functions may.", line)
    return Expression(text, line, tree)


def _harmless(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=value):
            text = isinstance(value, str) and not HALVES.search(value)
            return value is None or text or (isinstance(value, int | float) and abs(value) <= LARGEST)
        case ast.Call(func=func, keywords=words):
            return isinstance(func, ast.Name) and all(word.arg for word in words)
    return isinstance(node, ALLOWED)


def called(text: str, line: int = 0) -> tuple[str, dict[str, Any]]:
    """A name and settings, as `rollout(depth=3)` or `rollout`: words and constants, or what a function measures, as an
    Expression."""
    match parse(text, line).tree:
        case ast.Name(id=name):
            return name, {}
        case ast.Call(func=ast.Name(id=name), args=[], keywords=words):
            run = _Run(None, {})
            try:
                return name, {
                    str(word.arg): Expression(ast.unparse(word.value), line, word.value)
                    if any(isinstance(part, ast.Call) for part in ast.walk(word.value))
                    else run.argument(word.value)
                    for word in words
                }
            except LessonError as sentence:
                raise LessonError(f"A setting of a view is a number or a word. {sentence}", line) from None
    raise LessonError(f"“{text[:80]}” is no view with settings, as in rollout(depth=3).", line)


def written(value: Any, form: str = "") -> str:
    """A value in a text: a number by a format of Python (`.1%`, `.2f`), a place as its row and column from 1."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        text = format(round(value) if form.endswith("d") else value, form or ("d" if isinstance(value, int) else ".3g"))
        if "e-" in text:  # as people write it
            text = format(value, "f")
        if not any(digit in "123456789" for digit in text):
            text = text.removeprefix("-")
        return text.replace("%", " %").replace("-", "−")
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, int) for part in value):
        return f"row {value[0] + 1}, column {value[1] + 1}"
    if isinstance(value, tuple | list):
        return ", ".join(written(part, form) for part in value)
    raise LessonError("A map cannot be written in a sentence: say a number or a place of it.")


def readable(form: str) -> bool:
    return _FORMAT.fullmatch(form) is not None


@dataclass(frozen=True)
class _Run:
    of: "Subject | None"
    given: Mapping[str, Any]

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name in self.given:
                    return self.given[name]
                raise LessonError(f"Nothing is called {name} here.{_nearest(name, [*known(), *self.given])}")
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(map(self.argument, parts))
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not self.truth(part)
            case ast.UnaryOp(op=op, operand=part):
                value = _number(self.value(part))
                return -value if isinstance(op, ast.USub) else value
            case ast.BinOp(left=left, op=op, right=right):
                return _reckoned(op, _number(self.value(left)), _number(self.value(right)))
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.value(left), *map(self.value, others)]
                pairs = zip(ops, values, values[1:], strict=False)
                return all(_truth(OPERATORS[type(op)](one, other), "a comparison of maps") for op, one, other in pairs)
            case ast.BoolOp(op=op, values=parts):
                return (all if isinstance(op, ast.And) else any)(map(self.truth, parts))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self.value(body if self.truth(test) else otherwise)
            case ast.Call(args=args, keywords=words):
                given = map(self.argument, args)
                named = {str(part.arg): self.argument(part.value) for part in words}
                return _plain(_word(node)(self.of, *given, **named))
        raise LessonError("This may not stand in an expression.")

    def argument(self, node: ast.expr) -> Any:
        return node.id if isinstance(node, ast.Name) and node.id not in self.given else self.value(node)

    def truth(self, node: ast.expr) -> bool:
        return _truth(self.value(node), ast.unparse(node)[:60])


def known() -> dict[str, Callable[..., Any]]:
    """The words of the vocabulary, which is heavy to import."""
    from vizkit.lessons.vocabulary import VOCABULARY

    return VOCABULARY


def bound(node: ast.Call) -> BoundArguments:
    """By their names the arguments of a function as they are written, and its defaults. Raises LessonError for a
    function that there is not, and TypeError for one that does not take these."""
    found = signature(_word(node)).bind(None, *node.args, **{str(part.arg): part.value for part in node.keywords})
    found.apply_defaults()
    return found


def _word(node: ast.Call) -> Callable[..., Any]:
    name = ast.unparse(node.func)
    if name not in known():
        raise LessonError(f"There is no function {name}.{_nearest(name, known())}")
    return known()[name]


def _nearest(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, [*names], n=2)
    return f" The nearest: {', '.join(near)}." if near else ""


def _number(value: Any) -> Any:
    """What can be reckoned with: a number or a map."""
    if value is None or isinstance(value, str | tuple):
        raise LessonError(f"{value!r} is no number.")
    return value


def _reckoned(op: ast.operator, one: Any, other: Any) -> Any:
    if isinstance(op, ast.Pow) and not (isinstance(other, int | float) and abs(other) <= MOST_EXPONENT):
        raise LessonError(f"An exponent is a number of at most {MOST_EXPONENT}.")
    value = OPERATORS[type(op)](one, other)
    if isinstance(value, complex) or (isinstance(value, int | float) and not abs(value) <= LARGEST):
        raise LessonError("A number becomes too large.")
    return value


def _truth(value: Any, what: str) -> bool:
    if isinstance(found := _plain(value), bool):
        return found
    raise LessonError(f"“{what}” is neither true nor false.")


def _plain(value: Any) -> Any:
    """A tensor or an array without places as Python's own number."""
    shape = getattr(value, "shape", None)
    value = value.item() if shape is not None and len(shape) == 0 else value
    return tuple(value) if isinstance(value, list) else value
