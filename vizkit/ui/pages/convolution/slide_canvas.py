"""The canvas over which a kernel walks: what it receives, and what it reports."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float, UInt8
from streamlit.components.v2 import component
from torch import Tensor

from vizkit.analysis.convolution.sliding import Kind, Steps
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import SIGNED, colours
from vizkit.image import digest_of
from vizkit.ui.session.address import drop, put

HERE = Path(__file__).parent
MOST = 1e4  # of a number that was typed
SLIDE = component(
    "vizkit_slide",
    html="<div class='slide'><div class='controls'><button>◀ Step</button><button>▶ Play</button>"
    "<button>Step ▶</button></div><div class='inside'>"
    "<section><h4>Input</h4><canvas class='input' tabindex='0' role='application'></canvas></section>"
    "<section class='middle'><h4>Pixel × weight<small class='where'></small></h4><div class='channels'></div>"
    "<div class='cells'></div><p class='total'></p><button class='undo'>Undo the changes</button></section>"
    "<section><h4>Output</h4><canvas class='output' tabindex='0' role='application'></canvas>"
    "<small class='shapes'></small></section>"
    "</div><p class='formula'></p><p class='proof'></p></div>",
    css=(HERE / "slide.css").read_text(encoding="utf-8"),
    js=(HERE / "slide.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, eq=False)
class Walk:
    """A kernel on its way over a picture. `shades`: the picture as it is drawn; `kernel` None: the largest pixel wins.
    `white`: the value that is drawn white; None: from blue over zero to red. `digits` of pixels, 0: as few as do."""

    image: Float[Tensor, "channel height width"]
    shades: UInt8[np.ndarray, "height width 3"]
    kernel: Float[Tensor, "channel f f2"] | None
    bias: float
    steps: Steps
    kind: Kind
    output: Float[Tensor, "out_height out_width"]
    white: float | None
    digits: int
    editable: bool
    name: str


def typed(f: int) -> Float[np.ndarray, "f f2"] | None:
    """The kernel that was edited on the canvas or comes with the link; None where there is none of this size."""
    text = str(st.session_state.get("_slide_numbers", st.query_params.get("slide_numbers", "")))
    try:
        values = np.array([float(part) for part in text.split(",")]) if text else np.array([])
    except ValueError:
        return None
    return values.reshape(f, f) if len(values) == f * f and (np.abs(values) <= MOST).all() else None


def forget_typed() -> None:
    st.session_state["_slide_numbers"] = ""
    drop("slide_numbers")


def play(key: str, walk: Walk, *, edited: bool) -> None:
    """Mount the canvas. An edited kernel and the chosen place stay in the session and in the address."""

    def changed() -> None:
        numbers = st.session_state[key].kernel
        if numbers:
            st.session_state["_slide_numbers"] = ",".join(f"{float(value):.6g}" for value in numbers)
        elif numbers is not None:
            forget_typed()

    def chosen() -> None:
        at = st.session_state[key].at
        if at is not None:
            st.session_state["_slide_at"] = int(at[0]), int(at[1])

    if edited and (text := st.session_state.get("_slide_numbers")):
        put("slide_numbers", text)
    SLIDE(key=key, data=for_browser(walk, edited), on_kernel_change=changed, on_at_change=chosen)


def for_browser(walk: Walk, edited: bool) -> dict[str, Any]:
    image, steps = walk.image.numpy().astype("<f4"), walk.steps
    kernel = None if walk.kernel is None else text64(walk.kernel.numpy().astype("<f4"))
    rows, columns = walk.output.shape
    expected = text64(walk.output.numpy().astype("<f4"))
    return {
        "of": f"{digest_of(walk.shades)} {walk.name} {steps} {walk.kind} {kernel} {walk.bias}",
        "input": text64(image),
        "input_size": image.shape,
        "shades": text64(walk.shades),
        "kernel": kernel,
        "bias": walk.bias,
        "f": steps.f,
        "stride": steps.stride,
        "padding": steps.padding,
        "dilation": steps.dilation,
        "kind": walk.kind,
        "output_size": (rows, columns),
        "expected": expected,
        "display": "signed" if walk.white is None else "grey",
        "white": walk.white or 1.0,
        "signed": text64(colours(SIGNED)),
        "digits": walk.digits,
        "editable": walk.editable,
        "edited": edited,
        "formula": steps.formula(image.shape[1]),
        "words": f"{rows} × {columns} numbers, {_ends(walk)}",
        "label": walk.name,
        "at": _place(rows, columns),
    }


def _ends(walk: Walk) -> str:
    """Lowest and highest number of the output, and how they are drawn."""
    low, high = (f"{float(end):.4g}".replace("-", "−") for end in (walk.output.min(), walk.output.max()))
    return f"{low} to {high}" + (": blue below 0, red above" if walk.white is None else "")


def _place(rows: int, columns: int) -> tuple[int, int]:
    """The output under the cursor: clicked, else from the link, else a third from the top left."""
    at = st.session_state.get("_slide_at")
    if at is not None:
        put("slide_at", f"{at[0]},{at[1]}")
    else:
        parts = st.query_params.get("slide_at", "").split(",")
        at = (int(parts[0]), int(parts[1])) if len(parts) == 2 and all(p.isdecimal() for p in parts) else None
    row, column = at or (rows // 3, columns // 3)
    return min(row, rows - 1), min(column, columns - 1)
