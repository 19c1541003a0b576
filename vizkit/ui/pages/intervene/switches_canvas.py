"""The canvas of Switches: what it receives, and what it reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.image import RGB, digest_of
from vizkit.ui.canvas import Canvas
from vizkit.ui.pages.intervene.chosen_edits import Hidden
from vizkit.ui.session import cached
from vizkit.views.rules import below, one_of, record, several, whole

if TYPE_CHECKING:
    from vizkit.ui.session.shown import Shown

HERE = Path(__file__).parent
TOOLS = ("Hide", "Erase", "Exchange", "Paste")
SWITCHES = Canvas(
    "vizkit_switches",
    "<div class='switches'><div class='inside'><section><h4>Patches</h4>"
    "<canvas tabindex='0' role='application'></canvas><p class='said'></p></section>"
    "<section><h4 class='of-heads'>Layers × heads</h4><div class='heads'></div>"
    "<h4>Answers</h4><div class='answers'></div></section></div></div>",
    HERE / "switches.css",
    HERE / "switches.js",
)


@dataclass(frozen=True)
class Brush:
    """`tool`: one of TOOLS; `painted`: cells that a further stroke of it would give back; `image`: the picture as the
    model sees it with all changes; `grid`: its cells, (rows, columns)."""

    tool: str
    grid: tuple[int, int]
    painted: tuple[int, ...]
    image: RGB


@dataclass(frozen=True)
class Switched:
    """What the canvas tells: cells and (layer, head) that are hidden and off, and the cells that the brush has painted,
    of "Exchange" two."""

    cells: tuple[int, ...]
    off: tuple[tuple[int, int], ...]
    tool: str
    painted: tuple[int, ...]


def switches(
    key: str,
    shown: "Shown",
    brush: Brush,
    heads: Sequence[int],
    hidden: Hidden,
    on_change: Callable[[Switched], None],
    answers: Sequence[tuple[str, float, float, float]],
    changed: bool,
) -> None:
    """Mount the canvas. `answers`: by name, before and after, and the difference of logits; `changed`: whether anything
    is. `on_change` hears what is switched or painted."""
    count = brush.grid[0] * brush.grid[1]
    cells = several(below(count), count)
    names = {f"{layer}.{head}": (layer, head) for layer, many in enumerate(heads) for head in range(many)}

    def switched(told: dict[str, Any]) -> None:
        st.session_state["_switches_heard"] = told["number"]
        if told["tool"] != "Exchange" or len(told["painted"]) == 2:
            off = sorted(names[name] for name in told["off"])
            on_change(Switched(told["hidden"], tuple(off), told["tool"], told["painted"]))

    off = tuple(f"{layer}.{head}" for layer, head in hidden.off)
    head = shown.loaded.head
    digest = digest_of(brush.image)
    rows = [
        (
            name,
            head.text(a),
            head.text(b),
            *((a, b) if head.probable else (0.0, 0.0)),
            f"{logit:+.2f}".replace("-", "−"),
        )
        for name, a, b, logit in answers
    ]
    data: dict[str, Any] = {
        "answers": tuple(rows),
        "changed": changed,
        "of": f"{shown.source} {digest} {brush.tool}",
        "heard": st.session_state.get("_switches_heard", 0),
        "image": cached.browser_image(digest, brush.image),
        "ratio": brush.image.shape[0] / brush.image.shape[1],
        "grid": brush.grid,
        "heads": tuple(heads),
        "hidden": hidden.cells,
        "off": off,
        "tool": brush.tool,
        "painted": brush.painted,
        "label": "Patches of the image. Arrow keys move, the space bar paints.",
    }
    rule = record(number=whole(0, 2**53), hidden=cells, off=several(one_of(names), len(names)), tool=one_of(TOOLS),
                  painted=cells)  # fmt: skip
    SWITCHES(key, data, switched=(rule, switched))
