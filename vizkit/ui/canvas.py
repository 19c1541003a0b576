"""Elements that draw in the browser, and the one place where what they tell is read.

A visitor's browser may send anything under their names. So whoever mounts one says by rules what it may tell; the rest
is dropped without a word, for the page itself never sends it. Places in links are read by the same rules.
"""

import json
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import streamlit as st
from streamlit.components.v2 import component

T = TypeVar("T")
Rule = Callable[[object], T]
"""What was told, as the type that is meant. RefusedError where it is anything else."""


class RefusedError(ValueError):
    """No canvas of the app sends this."""


class Canvas:
    """An element of the page with a script of its own. `css`, `js`: texts, or files of them."""

    known: ClassVar[dict[str, "Canvas"]] = {}

    def __init__(self, name: str, html: str, css: str | Path, *js: str | Path) -> None:
        script = "\n".join(map(_text, js))
        self._mount = component(name, html=html, css=_text(css), js=script)
        self.known[name] = self

    def __call__(
        self,
        key: str,
        data: dict[str, Any] | None = None,
        width: Literal["stretch", "content"] = "stretch",
        **tells: tuple[Rule[Any], Callable[[Any], None] | None],
    ) -> None:
        """Mount it. `tells`: by the name of a value its rule, and what is called with it when it has changed; None
        where nothing is to happen then."""
        callbacks: dict[str, Any] = {
            f"on_{name}_change": partial(hear, key, name, rule, act) for name, (rule, act) in tells.items() if act
        }
        self._mount(key=key, data=data, width=width, **callbacks)


def _text(part: str | Path) -> str:
    return part if isinstance(part, str) else part.read_text(encoding="utf-8")


def hear(key: str, name: str, rule: Rule[T], act: Callable[[T], None]) -> None:
    """Hand on what the widget `key` tells under this name, where it keeps to the rule."""
    try:
        told = rule(st.session_state[key].get(name))
    except RefusedError:
        return
    act(told)


def linked(name: str, rule: Rule[T]) -> T | None:
    """The values, commas between them, that the address gives to this name, as the canvas would tell them; None where
    it gives none, or others."""
    try:
        return rule(json.loads(f"[{st.query_params.get(name, '')}]"))
    except (ValueError, RecursionError):
        return None


# ---- rules -----------------------------------------------------------------------------------------------------------
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
"""A place on a picture, in shares of its width and height. The scripts round to four digits, below 1."""
