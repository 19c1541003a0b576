"""What a view's help says: of the class in Python, and of each field on the command line."""

from collections.abc import Sequence
from dataclasses import fields
from textwrap import fill

from vizkit.views.controls import Control, controls
from vizkit.views.view import View

__all__ = ["described", "manual"]

WIDTH = 100


def manual(cls: type[View], own: str) -> str:
    """The docstring of a view: how it is read, and its settings by name with what each may be."""
    defaults = {part.name: part.default for part in fields(cls)}
    parts = [own.strip(), fill(cls.how.read, WIDTH), fill(f"It does not show {cls.how.not_shown}", WIDTH)]
    parts += [f"Source: {cls.how.source}.", "Settings:"] if controls(cls) else [f"Source: {cls.how.source}."]
    for name, control in controls(cls).items():
        words = described(control, defaults[name], "(row, column) from 0")
        text = fill(words, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
        parts.append(f"    {name} = {defaults[name]!r}\n{text}")
    return "\n\n".join(parts)


def described(control: Control, default: object, cell: str) -> str:
    """Its label, what it may be, and its help. `cell`: how a patch is named."""
    none = {"layer": "; none is the last", "head": "; none is the mean of all"}.get(control.kind, "")
    what = allowed(control, cell) + (none if default is None else "")
    return f"{control.label}: {what}. {control.help}".strip()


def allowed(control: Control, cell: str) -> str:
    """The values of a field in words; what depends on the model is said as such."""
    if control.kind in ("number", "layer", "head"):
        return f"a number from {_end(control, low=True)} to {_end(control, low=False)}"
    if control.kind == "switch":
        return "true or false"
    if control.kind == "text":
        return f"at most {control.longest} characters"
    if control.kind == "query":
        return f"“patch” for that at the point, a special token of the model by its name, or a patch as {cell}"
    few = "any of " if control.kind == "several" else ""
    return few + ("those that the model has" if callable(control.options) else _listed(control.options, control))


def _end(control: Control, *, low: bool) -> str:
    end = control.low if low else control.high
    if not callable(end):
        return f"{end:g}"
    last = {"layer": "the last layer", "head": "the number of heads"}
    return last.get(control.kind, "what the model allows")


def _listed(options: Sequence[str], control: Control) -> str:
    named = [each if control.called(each) == each else f"{each} ({control.called(each)})" for each in options]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"
