"""What an element of a page may tell: a browser may send anything, so each value has a rule, and what breaks it is
dropped without a word, for the page itself never sends it. Places in links are read by the same rules."""

from collections.abc import Callable, Collection
from typing import Any, TypeVar

T = TypeVar("T")
Rule = Callable[[object], T]
"""What was told, as the type that is meant. RefusedError where it is anything else."""


class RefusedError(ValueError):
    """No canvas of the app sends this."""


def whole(first: int, last: int) -> Rule[int]:
    """A whole number, both ends allowed."""

    def read(told: object) -> int:
        if type(told) is not int or not first <= told <= last:  # True is an int too
            raise RefusedError
        return told

    return read


def below(count: int) -> Rule[int]:
    """The place of one of so many, from 0."""
    return whole(0, count - 1)


def number(low: float, high: float) -> Rule[float]:
    """A number from `low` up to `high`, never NaN."""

    def read(told: object) -> float:
        if not isinstance(told, int | float) or isinstance(told, bool) or not low <= told <= high:
            raise RefusedError
        return float(told)

    return read


def one_of(names: Collection[str]) -> Rule[str]:
    def read(told: object) -> str:
        if not isinstance(told, str) or told not in names:
            raise RefusedError
        return told

    return read


def words(longest: int) -> Rule[str]:
    """Of at most so many characters."""

    def read(told: object) -> str:
        if not isinstance(told, str) or len(told) > longest:
            raise RefusedError
        return told

    return read


def tuple_of(*rules: Rule[Any]) -> Rule[tuple[Any, ...]]:
    """As many values as there are rules, each by its own."""

    def read(told: object) -> tuple[Any, ...]:
        if not isinstance(told, list) or len(told) != len(rules):
            raise RefusedError
        return tuple(rule(value) for rule, value in zip(rules, told, strict=True))

    return read


def several(rule: Rule[T], most: int) -> Rule[tuple[T, ...]]:
    """Any number of values up to `most`."""

    def read(told: object) -> tuple[T, ...]:
        if not isinstance(told, list) or len(told) > most:
            raise RefusedError
        return tuple(map(rule, told))

    return read


def record(**rules: Rule[Any]) -> Rule[dict[str, Any]]:
    """All of these by their names, whatever else comes with them."""

    def read(told: object) -> dict[str, Any]:
        if not isinstance(told, dict) or not rules.keys() <= told.keys():
            raise RefusedError
        return {name: rule(told[name]) for name, rule in rules.items()}

    return read


def maybe(rule: Rule[T]) -> Rule[T | None]:
    """That, or nothing chosen."""
    return lambda told: None if told is None else rule(told)


POINT = tuple_of(number(0.0, 0.9999), number(0.0, 0.9999))
"""A place on an image, in shares of its width and height. The scripts round to four digits, below 1."""
