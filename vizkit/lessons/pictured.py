"""Whether the picture of a step is of what its question asks: the same layer, head, query, block, method and change."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vizkit.lessons.expressions import LessonError, bound
from vizkit.lessons.lesson import Look, Question
from vizkit.views.controls import controls

if TYPE_CHECKING:
    from vizkit.views.subject import Subject

FIELDS = {"layer": "layer", "head": "head", "query": "query", "block": "block", "method": "method", "edits": "changes"}
"""By the argument of a word the field of a view."""


def unlike(look: Look, question: Question, of: "Subject") -> Iterator[str]:
    """A sentence for each that the picture shows of another; of several that are asked it may show any."""
    view = look.set_for(of)
    for name, asked in _asked(question, of).items():
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


def _asked(question: Question, of: "Subject") -> dict[str, set[str]]:
    """By the arguments of the words of its answer what they are, where that stands there."""
    from vizkit.analysis.attribution.methods import METHODS

    found = defaultdict[str, set[str]](set)
    for node in (each for expression in question.expressions for each in ast.walk(expression.tree)):
        if not isinstance(node, ast.Call):
            continue
        try:
            arguments = bound(node).arguments
        except (LessonError, TypeError):
            continue
        if "method" not in arguments:  # rollout is one
            found["method"].add(ast.unparse(node.func))
        for name in FIELDS.keys() & arguments.keys():
            given = arguments[name]
            given = getattr(given, "id", getattr(given, "value", None)) if isinstance(given, ast.expr) else given
            if isinstance(called := _called(name, given, of), str) and called:
                found[name].add(called)
    found["method"] &= {*METHODS}
    return {name: each for name, each in found.items() if each}


def _called(name: str, value: Any, of: "Subject") -> str | None:
    """In one form of both; None of a place in the image, or of what is measured."""
    if name in ("layer", "block") and value in (None, "last"):
        return str(of.depth)
    if name == "head" and value is None:
        return "mean"
    return str(value) if isinstance(value, str | int) else None
