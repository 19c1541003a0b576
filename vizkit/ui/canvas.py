"""Elements that draw in the browser, and the one place where what they tell is read.

A visitor's browser may send anything under their names. So whoever mounts one says by rules what it may tell; the rest
is dropped without a word, for the page itself never sends it. Places in links are read by the same rules.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import streamlit as st
from streamlit.components.v2 import component

from vizkit.image import RGB, data_url
from vizkit.views.rules import RefusedError, Rule, T


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
        # Streamlit looks for tables in lists, and imports pandas for that: a second before the first picture.
        data = data and {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
        self._mount(key=key, data=data, width=width, **callbacks)


@st.cache_data(max_entries=32, show_spinner=False)
def picture_url(digest: str, _rgb: RGB) -> str:
    """A picture as canvases load it, at most 1,024 pixels; small ones stay exact."""
    return data_url(_rgb)


def _text(part: str | Path) -> str:
    return part if isinstance(part, str) else part.read_text(encoding="utf-8")


def hear(key: str, name: str, rule: Rule[T], act: Callable[[T], None]) -> None:
    """Hand on what the widget `key` tells under this name, where it keeps to the rule; nothing of one that has left
    the page meanwhile."""
    if key not in st.session_state:
        return
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


def script_canvas(name: str) -> Canvas:
    """The canvas of a view's own script, by its name in `vizkit.figure.canvas.scripts`."""
    if name not in Canvas.known:
        from vizkit.figure.canvas.scripts import SCRIPTS

        script = SCRIPTS[name]
        Canvas(name, script.html, script.css, *script.js)
    return Canvas.known[name]
