"""The canvas of Switches: what it receives, and what it reports."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.components.v2 import component

from vizkit.image import Picture
from vizkit.ui.pages.intervene.chosen_edits import Hidden
from vizkit.ui.session import cached

if TYPE_CHECKING:
    from vizkit.ui.session.shown import Shown

HERE = Path(__file__).parent
SWITCHES = component(
    "vizkit_switches",
    html="<div class='switches'><div class='inside'><section><h4>Patches</h4>"
    "<canvas tabindex='0' role='application'></canvas><p class='said'></p></section>"
    "<section><h4>Layers × heads</h4><div class='heads'></div>"
    "<h4>Answers</h4><div class='answers'></div></section></div></div>",
    css=(HERE / "switches.css").read_text(encoding="utf-8"),
    js=(HERE / "switches.js").read_text(encoding="utf-8"),
)


def switches(
    key: str,
    shown: "Shown",
    picture: Picture,
    grid: tuple[int, int],
    heads: Sequence[int],
    hidden: Hidden,
    on_change: Callable[[Hidden], None],
    reason: str,
    answers: Sequence[tuple[str, float, float]],
    changed: bool,
) -> None:
    """Mount the canvas. `answers`: by name, before and after; `changed`: whether anything is.

    `reason`: why no patch can be hidden, "" where it can. `on_change` hears what is switched.
    """
    height, width = picture.rgb.shape[:2]
    x0, y0, x1, y1 = shown.box_xyxy
    count = grid[0] * grid[1]

    def switched() -> None:
        told = st.session_state[key].switched
        if not told:
            return
        st.session_state["_switches_heard"] = int(told["number"])
        cells = tuple(int(cell) for cell in told["hidden"][:count] if 0 <= int(cell) < count)
        off = []
        for name in told["off"][: sum(heads)]:
            layer, _, head = str(name).partition(".")
            if layer.isdecimal() and head.isdecimal() and int(layer) < len(heads) and int(head) < heads[int(layer)]:
                off.append((int(layer), int(head)))
        on_change(replace(hidden, cells=cells, off=tuple(sorted(off))))

    off = tuple(f"{layer}.{head}" for layer, head in hidden.off)
    head = shown.loaded.head
    shares = [(a, b) if head.probable else (0.0, 0.0) for _, a, b in answers]
    data: dict[str, Any] = {
        "answers": tuple(
            (name, head.text(a), head.text(b), *share) for (name, a, b), share in zip(answers, shares, strict=True)
        ),
        "changed": changed,
        "of": f"{shown.source} {picture.digest}",
        "heard": st.session_state.get("_switches_heard", 0),
        "image": cached.browser_image(picture.digest, picture.rgb),
        "box": (x0 / width, y0 / height, x1 / width, y1 / height),
        "ratio": (y1 - y0) / (x1 - x0),
        "grid": grid,
        "heads": tuple(heads),
        "hidden": hidden.cells,
        "off": off,
        "paintable": not reason,
        "reason": reason,
        "label": "Patches of the image. Arrow keys move, the space bar hides a patch.",
    }
    SWITCHES(key=key, data=data, on_switched_change=switched)
