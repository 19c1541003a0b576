"""The canvas of Switches: what it receives, and what it reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.components.v2 import component

from vizkit.image import RGB, digest_of
from vizkit.ui.pages.intervene.chosen_edits import Hidden
from vizkit.ui.session import cached

if TYPE_CHECKING:
    from vizkit.ui.session.shown import Shown

HERE = Path(__file__).parent
SWITCHES = component(
    "vizkit_switches",
    html="<div class='switches'><div class='inside'><section><h4>Patches</h4>"
    "<canvas tabindex='0' role='application'></canvas><p class='said'></p></section>"
    "<section><h4 class='of-heads'>Layers × heads</h4><div class='heads'></div>"
    "<h4>Answers</h4><div class='answers'></div></section></div></div>",
    css=(HERE / "switches.css").read_text(encoding="utf-8"),
    js=(HERE / "switches.js").read_text(encoding="utf-8"),
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

    def cells_of(numbers: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(cell) for cell in numbers[:count] if 0 <= int(cell) < count)

    def switched() -> None:
        told = st.session_state[key].switched
        if not told:
            return
        st.session_state["_switches_heard"] = int(told["number"])
        off = []
        for name in told["off"][: sum(heads)]:
            layer, _, head = str(name).partition(".")
            if layer.isdecimal() and head.isdecimal() and int(layer) < len(heads) and int(head) < heads[int(layer)]:
                off.append((int(layer), int(head)))
        painted = cells_of(told["painted"])
        if told["tool"] != "Exchange" or len(painted) == 2:
            on_change(Switched(cells_of(told["hidden"]), tuple(sorted(off)), str(told["tool"]), painted))

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
    SWITCHES(key=key, data=data, on_switched_change=switched)
