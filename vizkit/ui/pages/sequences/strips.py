"""Steps of a computation as strips of coloured cells, one cell for each number: what Step by step and From words to
patches share, and what the canvas of both receives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from streamlit.components.v2 import component

from vizkit.figure.canvas.rows import SHORT, text64
from vizkit.figure.palette import SIGNED, colours

if TYPE_CHECKING:
    from torch import Tensor

HERE = Path(__file__).parent
STRIPS = component(
    "vizkit_strips",
    html="<div class='strips'><div class='words'></div><div class='controls'><button>◀ Back</button>"
    "<button>▶ Play</button><button>Next ▶</button></div><ol></ol><p class='says' aria-live='polite'></p>"
    "<div class='rows'></div><p class='read'></p></div>",
    css=(HERE / "strips.css").read_text(encoding="utf-8"),
    js="\n".join(path.read_text(encoding="utf-8") for path in (SHORT, HERE / "strips.js")),
)


@dataclass(frozen=True, eq=False)
class Strip:
    """Some numbers. `labels`: of every cell, where each belongs to a word. "weights" are 0 to 1, "vector" of any sign,
    on one scale with the others of its step. `frame`: (first, behind the last) cell of a part that is meant."""

    name: str
    values: "Tensor"
    labels: Sequence[str] = ()
    kind: Literal["vector", "weights"] = "vector"
    frame: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """`part`: of the network, the same for neighbours that belong together; `say`: a sentence with its numbers."""

    part: str
    title: str
    formula: str
    say: str
    strips: tuple[Strip, ...]


def for_browser(
    steps: Sequence[Step], of: str, at: int, label: str, words: Sequence[str] = (), chosen: int = -1
) -> dict[str, Any]:
    """`of`: what is walked through; `at`: the step to begin with, from 0; `words`: those that can be chosen above."""
    return {
        "of": of,
        "at": min(max(at, 0), len(steps) - 1),
        "label": label,
        "words": list(words),
        "chosen": chosen,
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
                    }
                    for strip in step.strips
                ],
            }
            for step in steps
        ],
    }


def mount(key: str, data: dict[str, Any], stepped: Callable[[], None], picked: Callable[[], None]) -> None:
    """The canvas. It reports the step that was chosen as `at`, a word above as `word`."""
    STRIPS(key=key, data=data, on_at_change=stepped, on_word_change=picked)


def arrays(steps: Sequence[Step]) -> dict[str, np.ndarray]:
    """All numbers by step and name, to be saved."""
    return {
        f"{number:02d} {step.part}, {step.title}: {strip.name}".replace("/", "÷"): strip.values.float().numpy()
        for number, step in enumerate(steps, 1)
        for strip in step.strips
    }
