"""Whether the picture of a step is of what its question asks: the same layer, head, query, block, method and change."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any

from vizkit.lessons.expressions import Words, known
from vizkit.lessons.lesson import Look, Question
from vizkit.views.controls import controls

if TYPE_CHECKING:
    from vizkit.views.subject import Subject

FIELDS = {"layer": "layer", "head": "head", "query": "query", "block": "block", "method": "method", "edits": "changes"}
"""By the argument of a word the field of a view."""


def unlike(look: Look, question: Question, of: "Subject", words: Words | None = None) -> Iterator[str]:
    """A sentence for each that the picture shows of another; of several that are asked it may show any."""
    view = look.set_for(of, words)
    for name, asked in _asked(question, of, words).items():
        field = FIELDS[name]
        fields = controls(type(view))
        control = fields.get(field)
        if name == "head" and not {"layer", "block"} & fields.keys():
            continue  # it is called by both, as 5.2
        if control is None or (control.when is not None and not control.when(view)):
            if name == "edits":
                yield f"Line {look.line}: {look.name} does not show “{' or '.join(sorted(asked))}”, which is asked."
            continue
        shown = _called(name, getattr(view, field), of)
        if isinstance(shown, str) and shown not in asked:
            yield f"Line {look.line}: {look.name} shows {field} {shown}, and {' or '.join(sorted(asked))} is asked."


def _asked(question: Question, of: "Subject", words: Words | None) -> dict[str, set[str]]:
    """By the arguments of the words of its answer what they are, where that stands there."""
    found = defaultdict[str, set[str]](set)
    for node in (each for expression in question.expressions for each in ast.walk(expression.tree)):
        if not isinstance(node, ast.Call) or (word := known(words).get(ast.unparse(node.func))) is None:
            continue
        try:
            bound = signature(word).bind(None, *node.args, **{str(part.arg): part.value for part in node.keywords})
        except TypeError:
            continue
        bound.apply_defaults()
        found["method"] |= {ast.unparse(node.func)} if "method" not in bound.arguments else set()  # rollout is one
        for name in FIELDS.keys() & bound.arguments.keys():
            given = bound.arguments[name]
            given = getattr(given, "id", getattr(given, "value", None)) if isinstance(given, ast.expr) else given
            if isinstance(called := _called(name, given, of), str) and called:
                found[name].add(called)
    found["method"] &= _methods() if len(found["method"]) else set()
    return {name: each for name, each in found.items() if each}


def _methods() -> set[str]:
    from vizkit.analysis.attribution.methods import METHODS

    return set(METHODS)


def _called(name: str, value: Any, of: "Subject") -> str | None:
    """In one form of both; None of a place in the image, or of what is measured."""
    if name in ("layer", "block") and value in (None, "last"):
        return str(of.depth)
    if name == "head" and value is None:
        return "mean"
    return str(value) if isinstance(value, str | int) else None
