"""The language of answers: numbers, words, and functions of a model and a picture, read by Python's own parser and
worked out here, node by node. Nothing is evaluated as Python.

    parse("100 * share(attention(layer=last, head=mean, query=cls), guess)").value(of, guess=(3, 4))

A bare word among the arguments of a function stands for itself (`cls`), `guess` and `answer` for what they are; other
words are refused. NotApplicable of a function passes through.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import signature
from typing import TYPE_CHECKING, Any

from vizkit.from_json import ReportError

if TYPE_CHECKING:
    from vizkit.views.subject import Subject

Words = Mapping[str, Callable[..., Any]]
LONGEST, DEEPEST = 600, 24  # characters, and nodes within one another
LARGEST, MOST_EXPONENT = 1e15, 12
GIVEN = ("guess", "answer")
"""What a question gives its expressions by name."""
BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
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

    def value(self, of: "Subject", words: Words | None = None, **given: Any) -> Any:
        """A number, a text, a place (row, column) from 0, a map, or whatever else the functions give.

        Raises LessonError for what cannot be worked out, and NotApplicable as the functions do."""
        return self._worked_out(_Run(of, _known(words), given))

    def says(self, name: str) -> bool:
        """Whether this word stands in it."""
        return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(self.tree))

    def proven(self, words: Words | None = None, given: tuple[str, ...] = GIVEN) -> None:
        """LessonError for a function that there is not, or that does not take these arguments, also where no value
        would come that way."""
        known = _known(words)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                self._worked_out(_Run(None, known, dict.fromkeys(given), alone=True), node)

    def _worked_out(self, run: "_Run", call: ast.Call | None = None) -> Any:
        from vizkit.traces import NotApplicable

        try:
            return run.value(self.tree) if call is None else run.called(call)
        except (LessonError, NotApplicable) as sentence:
            raise sentence if getattr(sentence, "line", 1) else LessonError(str(sentence), self.line) from None
        except FAILS as error:
            said = str(error).partition("\n")[0][:200] or type(error).__name__
            raise LessonError(f"“{self.text}” cannot be worked out: {said}", self.line) from None


def parse(text: str, line: int = 0) -> Expression:
    """LessonError for what is no expression, or has something in it that none may have."""
    text = " ".join(text.split())
    if len(text) > LONGEST:
        raise LessonError(f"An expression has at most {LONGEST} characters.", line)
    try:
        tree = ast.parse(text, mode="eval").body
        _check(tree, line, 0)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, LessonError):
            raise
        raise LessonError(f"“{text[:80]}” is no expression.", line) from None
    return Expression(text, line, tree)


def called(text: str, line: int = 0) -> tuple[str, dict[str, Any]]:
    """A name and settings, as `rollout(depth=3)` or `rollout`: words and constants alone."""
    tree = parse(text, line).tree
    if isinstance(tree, ast.Name):
        return tree.id, {}
    if not isinstance(tree, ast.Call) or tree.args or not isinstance(tree.func, ast.Name):
        raise LessonError(f"“{text[:80]}” is no view with settings, as in rollout(depth=3).", line)
    return tree.func.id, {str(word.arg): _constant(word.value, line) for word in tree.keywords}


def written(value: Any, form: str = "") -> str:
    """A value in a text: a number by a format of Python (`.1%`, `.2f`), a place as its row and column from 1."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        text = format(round(value) if form.endswith("d") else value, form or ("d" if isinstance(value, int) else ".3g"))
        return text.replace("%", " %").replace("-", "−")
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, int) for part in value):
        return f"row {value[0] + 1}, column {value[1] + 1}"
    if isinstance(value, tuple | list):
        return ", ".join(written(part, form) for part in value)
    raise LessonError("A map cannot be written in a sentence: say a number or a place of it.")


def readable(form: str) -> bool:
    return _FORMAT.fullmatch(form) is not None


# ---- what may stand in one -------------------------------------------------------------------------------------------
def _check(node: ast.AST, line: int, depth: int) -> None:
    if depth > DEEPEST:
        raise LessonError(f"An expression has at most {DEEPEST} parts within one another.", line)
    match node:
        case ast.Constant(value=int() | float() | str() | None as value):
            if isinstance(value, int | float) and not abs(value) <= LARGEST:
                raise LessonError("A number in an expression is too large.", line)
        case ast.Name() | ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not()) | ast.IfExp() | ast.BoolOp():
            pass
        case ast.BinOp(op=op) if type(op) in BINARY:
            pass
        case ast.Compare(ops=ops) if all(type(op) in COMPARED for op in ops):
            pass
        case ast.Call(func=ast.Name(), args=args, keywords=words):
            for part in [*args, *(word.value for word in words)]:
                _check(part, line, depth + 1)
            if any(word.arg is None for word in words):
                raise LessonError("An argument of a function has a name or a place.", line)
            return
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(parts) <= 16:
            pass
        case _:
            what = ast.unparse(node)[:60]
            raise LessonError(f"“{what}” may not stand in an expression: numbers, words and functions may.", line)
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.expr):
            _check(part, line, depth + 1)


def _constant(node: ast.expr, line: int) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=word):
            return word
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_constant(part, line) for part in parts)
    raise LessonError(f"A setting of a view is a number or a word, not “{ast.unparse(node)[:60]}”.", line)


# ---- what comes of it ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Run:
    """`alone`: functions are looked up, and not called."""

    of: "Subject | None"
    words: Words
    given: Mapping[str, Any]
    alone: bool = False

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name in self.given:
                    return self.given[name]
                raise LessonError(f"Nothing is called {name} here.{self._nearest(name)}")
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(map(self.argument, parts))
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not self.truth(part)
            case ast.UnaryOp(op=op, operand=part):
                value = _reckoned(self.value(part))
                return -value if isinstance(op, ast.USub) else value
            case ast.BinOp(left=left, op=op, right=right):
                return self.reckoned(op, _reckoned(self.value(left)), _reckoned(self.value(right)))
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.value(left), *map(self.value, others)]
                pairs = zip(ops, values, values[1:], strict=False)
                return all(_compared(COMPARED[type(op)](one, other)) for op, one, other in pairs)
            case ast.BoolOp(op=op, values=parts):
                return (all if isinstance(op, ast.And) else any)(map(self.truth, parts))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self.value(body if self.truth(test) else otherwise)
            case ast.Call():
                return self.called(node)
        raise LessonError("This may not stand in an expression.")

    def truth(self, node: ast.expr) -> bool:
        value = self.value(node)
        if not isinstance(value, bool):
            raise LessonError(f"“{ast.unparse(node)[:60]}” is neither true nor false.")
        return value

    def reckoned(self, op: ast.operator, one: Any, other: Any) -> Any:
        if isinstance(op, ast.Pow) and not (isinstance(other, int | float) and abs(other) <= MOST_EXPONENT):
            raise LessonError(f"An exponent is a number of at most {MOST_EXPONENT}.")
        value = BINARY[type(op)](one, other)
        if isinstance(value, complex) or (isinstance(value, int | float) and not abs(value) <= LARGEST):
            raise LessonError("A number becomes too large.")
        return value

    def called(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in self.words:
            raise LessonError(f"There is no function {name}.{self._nearest(name)}")
        word = self.words[name]
        if self.alone:
            try:
                signature(word).bind(None, *node.args, **{str(part.arg): None for part in node.keywords})
            except TypeError as error:
                raise LessonError(f"{name}: {error}.") from None
            return None
        given = [self.argument(part) for part in node.args]
        return _plain(word(self.of, *given, **{str(part.arg): self.argument(part.value) for part in node.keywords}))

    def argument(self, node: ast.expr) -> Any:
        return node.id if isinstance(node, ast.Name) and node.id not in self.given else self.value(node)

    def _nearest(self, name: str) -> str:
        near = get_close_matches(name, [*self.words, *self.given], n=2)
        return f" The nearest: {', '.join(near)}." if near else ""


def _known(words: Words | None) -> Words:
    if words is not None:
        return words
    from vizkit.lessons.vocabulary import VOCABULARY

    return VOCABULARY


def _reckoned(value: Any) -> Any:
    """What can be reckoned with: a number or a map."""
    if isinstance(value, str | tuple) or value is None:
        raise LessonError(f"{written(value) if value is not None else 'Nothing'} is no number.")
    return value


def _compared(value: Any) -> bool:
    if isinstance(found := _plain(value), bool):
        return found
    raise LessonError("Maps are not compared with one another: compare numbers of them.")


def _plain(value: Any) -> Any:
    """A tensor or an array without places as Python's own number."""
    shape = getattr(value, "shape", None)
    value = value.item() if shape is not None and len(shape) == 0 else value
    return tuple(value) if isinstance(value, list) else value
