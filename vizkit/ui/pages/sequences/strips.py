"""Steps of a computation as strips of coloured cells, one cell for each number: what Step by step and From words to
patches share, and what the canvas of both receives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from vizkit.figure.canvas.rows import SHORT, text64
from vizkit.figure.palette import SIGNED, colours
from vizkit.figure.saved.panel import Panel, cells_of
from vizkit.ui.canvas import Canvas, linked
from vizkit.ui.session.address import put
from vizkit.views.rules import below, tuple_of, whole

if TYPE_CHECKING:
    from torch import Tensor

HERE = Path(__file__).parent
STRIPS = Canvas(
    "vizkit_strips",
    "<div class='strips'><div class='words'></div><div class='controls'><button>◀ Back</button>"
    "<button>▶ Play</button><button>Next ▶</button></div><ol></ol><p class='says' aria-live='polite'></p>"
    "<div class='rows'></div><p class='read'></p></div>",
    HERE / "strips.css",
    SHORT,
    HERE / "strips.js",
)


@dataclass(frozen=True, eq=False)
class Strip:
    """Some numbers. `labels`: of every cell, where each belongs to a word. "weights" are 0 to 1, "vector" of any sign,
    on one scale with the others of its step and column. `frame`: (first, behind the last) cell of a part that is meant.
    `column`: where two things stand side by side, 0 the left one."""

    name: str
    values: "Tensor"
    labels: Sequence[str] = ()
    kind: Literal["vector", "weights"] = "vector"
    frame: tuple[int, int] | None = None
    column: int = 0


@dataclass(frozen=True, eq=False)
class Step:
    """`part`: of the network, the same for neighbours that belong together; `say`: a sentence with its numbers."""

    part: str
    title: str
    formula: str
    say: str
    strips: tuple[Strip, ...]


def for_browser(
    steps: Sequence[Step],
    of: str,
    label: str,
    words: Sequence[str] = (),
    chosen: int = -1,
    columns: Sequence[str] = ("",),
) -> dict[str, Any]:
    """`of`: what is walked through; `words`: those that can be chosen above; `columns`: titles of what stands side by
    side."""
    return {
        "of": of,
        "at": min(_step(), len(steps) - 1),
        "label": label,
        "words": list(words),
        "chosen": chosen,
        "columns": list(columns),
        "signed": text64(colours(SIGNED)),
        "steps": [
            {
                "part": step.part,
                "title": step.title,
                "formula": step.formula,
                "say": step.say,
                "strips": [
                    {
                        "name": strip.name,
                        "values": text64(strip.values.float().numpy().astype("<f4")),
                        "labels": list(strip.labels),
                        "kind": strip.kind,
                        "frame": strip.frame,
                        "column": strip.column,
                    }
                    for strip in step.strips
                ],
            }
            for step in steps
        ],
    }


def mount(key: str, data: dict[str, Any], picked: Callable[[int], None] = lambda word: None) -> None:
    """The canvas. The step stays in the session and in the address; `picked` is given the number, from 1, of a word
    that is clicked above."""

    def stepped(at: int) -> None:
        st.session_state["_sequence_step"] = at

    STRIPS(key, data, at=(below(len(data["steps"])), stepped), word=(whole(1, len(data["words"])), picked))


def _step() -> int:
    """From 0: chosen, else from the link."""
    at = st.session_state.get("_sequence_step")
    if at is not None:
        put("step", str(at + 1))
        return at
    (number,) = linked("step", tuple_of(whole(1, 999))) or (1,)
    return number - 1


CROWD = 24
"""Weights among which the largest is bright, as on the canvas."""


def panels(steps: Sequence[Step], columns: Sequence[str] = ("",)) -> list[Panel]:
    """Every strip of all steps, those of a step below one another, to be saved; on the scales of the canvas. `columns`:
    what stands side by side there, in a word."""
    made = []
    for number, step in enumerate(steps, 1):
        for strip in step.strips:
            vector = strip.kind == "vector"
            beside = [other.values for other in step.strips if other.kind == "vector" and other.column == strip.column]
            limit = max(float(v[v.isfinite()].abs().max()) for v in beside) if vector else 1.0
            limit = float(strip.values.max()) if not vector and len(strip.values) > CROWD else limit
            title = f"{number}. {step.title}{columns[strip.column]}: {strip.name}"
            values = strip.values.float().numpy()[None]
            made.append(cells_of(values, (), strip.labels, title=title, limit=limit, signed=vector))
    return made
