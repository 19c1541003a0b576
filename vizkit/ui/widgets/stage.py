"""A view that the browser draws: its first blocks at every step of the field that is played, and the scrubber."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

import vizkit.figure.canvas
from vizkit.figure.canvas.scripts import SCRIPTS, TURNED, mounted
from vizkit.ui.canvas import Canvas
from vizkit.views.controls import Control
from vizkit.views.rules import POINT, RefusedError, Rule, one_of, record, several

HERE = Path(vizkit.figure.canvas.__file__).parent
OWN, BAR = SCRIPTS["vizkit_stage"], SCRIPTS["vizkit_scrubber"]
PLAYED = "played_"  # before the key of what holds a played field: the scrubber is seen in its place (shell.css)
STAGE = Canvas(
    "vizkit_stage",
    OWN.html,
    OWN.css,
    *OWN.js,
    mounted(TURNED),
    HERE / "stage_element.js",
)
SCRUBBER = Canvas("vizkit_scrubber", BAR.html, BAR.css, *BAR.js, HERE / "scrubber_element.js")


def scrubber(key: str, slider_key: str, control: Control, values: Sequence[int | float], value: int | float) -> None:
    """The field that is played; `slider_key`: of the slider that holds it for the session and the address."""

    def stepped(step: int | float) -> None:
        st.session_state[slider_key] = step

    now = min(values, key=lambda each: abs(each - value))
    data = {"name": slider_key, "label": control.label, "help": control.help, "values": tuple(values), "value": now}
    data["counts"] = control.counts
    SCRUBBER(key, data, step=(among(values), stepped))


def stage(
    key: str,
    book: Mapping[str, Any],
    slider_key: str,
    picks: Mapping[str, tuple[Rule[Any], Callable[[Any], None]]],
    clicked: Callable[[tuple[float, float], str], None],
) -> None:
    """A column of `hosts.stage.leading`, which turns with the scrubber of this slider. `picks`: by the fields that a
    small map may set their rules, and what sets them; `clicked` is given a point and the field whose query becomes a
    patch, "" for none."""

    def pick(told: object) -> tuple[str, Any]:
        if not isinstance(told, list) or len(told) != 2 or not isinstance(told[0], str) or told[0] not in picks:
            raise RefusedError
        return told[0], picks[told[0]][0](told[1])

    def put(told: tuple[tuple[str, Any], ...]) -> None:
        for name, value in told:
            picks[name][1](value)

    # A step that was turned to leaves the text as it is, so that it is neither sent nor read again.
    asked = book["field"] and {**book["field"], "value": None, "key": slider_key}
    now = book["field"] and book["field"]["value"]
    data = {"book": json.dumps({**book, "field": asked, "guided": True}), "value": now}
    point = record(point=POINT, field=one_of(["", *picks]))
    STAGE(
        key,
        data,
        set=(several(pick, len(picks)), put),
        point=(point, lambda told: clicked(told["point"], told["field"])),
    )


def among(values: Sequence[int | float]) -> Rule[int | float]:
    """One of these numbers, of their own type."""

    def read(told: object) -> int | float:
        if isinstance(told, bool) or not isinstance(told, int | float) or told not in values:
            raise RefusedError
        return values[values.index(told)]

    return read
