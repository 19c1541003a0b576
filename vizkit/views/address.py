"""Settings as texts: in the address of a page, as Streamlit writes the widgets that are bound to it, and as people type
them. A cell is "row,column" from 1."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from vizkit.views import Entry, entry
from vizkit.views.controls import Control, ControlError, changed, controls, setting
from vizkit.views.view import View

V = TypeVar("V", bound=View)
Text = str | tuple[str, ...]  # several: a parameter that is there several times


def key_of(entry: Entry, field: str, control: Control) -> str:
    """The name of a field in the session and in the address."""
    return control.key or f"{entry.page}_{field}"


def to_address(view: View) -> dict[str, Text]:
    """By their names in the address all settings that differ from the defaults."""
    asked, of = controls(view), entry(view)
    return {
        key_of(of, name, asked[name]): as_text(asked[name], value)
        for name, value in changed(view).items()
        if value is not None
    }


def from_address(cls: type[V], address: Mapping[str, str | Sequence[str]]) -> V:
    """The view of an address; whatever it cannot have, whoever wrote it, is left out."""
    settings, of = dict[str, Any](), entry(cls)
    for name, control in controls(cls).items():
        text = address.get(key_of(of, name, control))
        if text is None or (value := from_text(control, text)) is None:
            continue
        with suppress(ControlError):
            settings[name] = setting(cls, name, value)
    return cls(**settings)


# ---- one setting -----------------------------------------------------------------------------------------------------
def as_text(control: Control, value: Any) -> Text:
    """An option in the words of the page; numbers without what says nothing; several options as a tuple."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value).removesuffix(".0")
    if control.kind == "several":
        return tuple(map(control.called, value)) or ""
    if isinstance(value, tuple):
        return ",".join(str(place + 1) for place in value)
    if control.kind == "query":
        return value if value == "patch" else control.words.get(value, rf"\[{value}\]")  # no Markdown of a button
    return value if control.kind == "text" else control.called(value)


def from_text(control: Control, text: str | Sequence[str]) -> Any:
    """What is meant, of whatever type a field of this kind may have: an option by its name or by its words; None where
    nothing can be."""
    if control.kind == "several":
        parts = [text] if isinstance(text, str) else text
        return tuple(_option(control, part) for part in parts if part)
    if not isinstance(text, str):
        return None if len(text) != 1 else from_text(control, text[0])
    if control.kind in ("number", "layer", "head"):
        return _number(text)
    if control.kind == "switch":
        return {"true": True, "false": False}.get(text)
    if control.kind == "query" and (cell := re.fullmatch(r"([1-9]\d{0,4}),([1-9]\d{0,4})", text)):
        return int(cell[1]) - 1, int(cell[2]) - 1
    if control.kind == "query" and text not in control.words.values():
        name = re.fullmatch(r"(\\?\[)?([^\[\]\\]+)(\\?\])?", text)
        return _option(control, name[2]) if name and name[2].isprintable() else None
    return text if control.kind == "text" else _option(control, text)


def _option(control: Control, text: str) -> str:
    return next((option for option, words in control.words.items() if words == text), text)


def _number(text: str) -> int | float | None:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None
