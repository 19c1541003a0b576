"""JSON of strangers as frozen dataclasses: every field is there, of its type, and of no absurd size."""

import re
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

LATER = {"later": True}
"""Metadata of a field that older reports lack; it has a default."""
LONGEST = 4_000  # characters of a text
LARGEST = 2**31  # of a number without a point
HALVES = re.compile("[\ud800-\udfff]")  # of letters: no file holds them
hints_of = cache(get_type_hints)


class ReportError(ValueError):
    """A report cannot be read or made again; the message is one sentence for the user."""


def read(hint: Any, value: Any, name: str = "report") -> Any:
    """`value` as the type `hint`: a dataclass, a tuple (of JSON a list), a Literal, a union, str, int, float, bool or
    None. Raises ReportError with the name of the first field that is something else."""
    if isinstance(hint, type) and is_dataclass(hint):
        return value if isinstance(value, hint) else _record(hint, value, name)
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        for option in inner:
            try:
                return read(option, value, name)
            except ReportError:
                continue
    elif kind is Literal and isinstance(value, str | int) and value in inner:
        return value
    elif kind is tuple and isinstance(value, list | tuple) and len(value) <= LONGEST:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        if len(kinds) == len(value):
            return tuple(read(option, part, name) for option, part in zip(kinds, value, strict=True))
    elif _plain(hint, value):
        return float(cast(float, value)) if hint is float else value
    raise ReportError(f"“{name}” of this report is not what vizkit writes there; use a replay.json as it was saved.")


def read_fields(hint: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Some fields of a dataclass, by their names; tuples may be lists. Raises ReportError for the first that is not of
    its type."""
    return {name: read(hints_of(hint)[name], value, name) for name, value in values.items()}


def _record(hint: Any, value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise ReportError(f"“{name}” of this report is no record; use a replay.json as it was saved.")
    hints = hints_of(hint)
    missing = [part.name for part in fields(hint) if part.name not in value and not part.metadata]
    strange = [str(key)[:40] for key in value if key not in hints]
    if missing or strange:
        said = f"lacks “{missing[0]}”" if missing else f"has “{strange[0]}”, which this version of vizkit does not know"
        raise ReportError(f"“{name}” of this report {said}; use a replay.json as it was saved.")
    given = [part.name for part in fields(hint) if part.name in value]
    return hint(**{name: read(hints[name], value[name], name) for name in given})


def _plain(hint: Any, value: Any) -> bool:
    if hint is str:
        return isinstance(value, str) and len(value) <= LONGEST and not HALVES.search(value)
    if hint is int:
        return type(value) is int and abs(value) < LARGEST
    if hint is float:
        return type(value) in (int, float) and abs(value) < 1e30  # nan is not
    return hint in (bool, NoneType) and type(value) is hint
