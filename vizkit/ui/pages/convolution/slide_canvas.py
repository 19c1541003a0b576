"""The canvas over which a kernel walks: what it receives, and what it reports."""

from collections.abc import Collection, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float

from vizkit.analysis.convolution.sliding import Steps
from vizkit.analysis.convolution.walk import PICTURE_AGAIN, Walk, Walked
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import SIGNED, colours
from vizkit.image import digest_of
from vizkit.ui.canvas import Canvas, linked
from vizkit.ui.session.address import drop, put
from vizkit.views.rules import below, number, several, tuple_of, whole

HERE = Path(__file__).parent
MOST = 1e4  # of a number that was typed
MOST_STRIDE, MOST_PADDING, MOST_DILATION = 4, 3, 3
PLACE = tuple_of(below(10_000), below(10_000))  # the browser may be ahead of the output here
SET = "_slide_steps"  # what was set on the canvas, by the names in the address
SLIDE = Canvas(
    "vizkit_slide",
    "<div class='slide'><div class='controls'><button>◀ Step</button><button>▶ Play</button>"
    "<button>Step ▶</button></div><div class='sliders'></div><div class='inside'>"
    "<section><h4>Input</h4><canvas class='input' tabindex='0' role='application'></canvas></section>"
    "<section class='middle'><h4>Pixel × weight<small class='where'></small></h4><div class='channels'></div>"
    "<div class='cells'></div><p class='total'></p><button class='undo'>Undo the changes</button></section>"
    "<section><h4>Output</h4><canvas class='output' tabindex='0' role='application'></canvas>"
    "<small class='shapes'></small></section>"
    "</div><p class='formula'></p><p class='proof'></p></div>",
    HERE / "slide.css",
    HERE / "slide.js",
)


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


def names_of(sizes: Collection[int], *, pool: bool) -> dict[str, int]:
    """The steps' names in the address and what they usually are, in the order of `Steps`; a kernel that comes in one
    size has no choice of it."""
    kind = "pool" if pool else "slide"
    usual = {f"{kind}_size": min(sizes), f"{kind}_stride": 2 if pool else 1, f"{kind}_padding": 0, "slide_dilation": 1}
    return {name: value for name, value in usual.items() if len(sizes) > 1 or not name.endswith("_size")}


def steps_of(sizes: Collection[int], *, pool: bool) -> Steps:
    """What was set on the canvas, else in the link, else what is usual. `sizes` that the kernel comes in."""
    usual = names_of(sizes, pool=pool)
    *first, stride, padding, dilation = usual
    f = _one_of(first[0], sizes, min(sizes)) if first else min(sizes)
    most = f // 2 if pool else MOST_PADDING  # as in PyTorch
    steps = Steps(f, _one_of(stride, range(1, MOST_STRIDE + 1), usual[stride]), _one_of(padding, range(most + 1), 0),
                  _one_of(dilation, range(1, MOST_DILATION + 1), 1))  # fmt: skip
    if SET in st.session_state:
        for name, value in zip(reversed(usual), reversed(astuple(steps)), strict=False):
            drop(name) if value == usual[name] else put(name, str(value))
    return steps


def _one_of(name: str, allowed: Collection[int], usual: int) -> int:
    text = str(st.session_state.get(SET, {}).get(name, st.query_params.get(name, "")))
    return int(text) if text.isdecimal() and len(text) < 4 and int(text) in allowed else usual


def play(
    key: str, walk: Walk, made: Walked, kernels: Mapping[int, np.ndarray | None], *, editable: bool, edited: bool
) -> None:
    """Mount the canvas. What is set on it stays in the session and in the address."""

    def changed(numbers: tuple[float, ...]) -> None:
        if not numbers:
            return forget_typed()
        st.session_state["_slide_numbers"] = ",".join(f"{value:.6g}" for value in numbers)

    def chosen(at: tuple[int, int]) -> None:
        st.session_state["_slide_at"] = at

    def stepped(numbers: tuple[int, ...]) -> None:
        names = reversed(names_of(kernels, pool=walk.kind != "convolution"))
        given = dict(zip(names, reversed(numbers), strict=False))
        if numbers[0] != walk.steps.f:
            forget_typed()
        st.session_state[SET] = st.session_state.get(SET, {}) | given

    if edited and (text := st.session_state.get("_slide_numbers")):
        put("slide_numbers", text)
    steps = tuple_of(whole(1, max(kernels)), whole(1, MOST_STRIDE), whole(0, MOST_PADDING), whole(1, MOST_DILATION))
    SLIDE(
        key,
        for_browser(walk, made, kernels, editable=editable, edited=edited),
        kernel=(several(number(-MOST, MOST), max(kernels) ** 2), changed),
        at=(PLACE, chosen),
        steps=(steps, stepped),
    )


def for_browser(
    walk: Walk, made: Walked, kernels: Mapping[int, np.ndarray | None], *, editable: bool, edited: bool
) -> dict[str, Any]:
    image, steps = made.image.numpy().astype("<f4"), walk.steps
    sent = {str(f): None if weights is None else text64(weights.astype("<f4")) for f, weights in kernels.items()}
    return {
        "of": f"{digest_of(made.shades)} {walk.name} {walk.kind} {sent} {walk.bias}",
        "input": text64(image),
        "input_size": image.shape,
        "shades": text64(made.shades),
        "kernels": sent,
        "bias": walk.bias,
        "steps": (steps.f, steps.stride, steps.padding, steps.dilation),
        "most": (MOST_STRIDE, MOST_PADDING, MOST_DILATION),
        "kind": walk.kind,
        "expected": text64(made.output.numpy().astype("<f4")),
        "picture_again": None if walk.mean else PICTURE_AGAIN,
        "signed": text64(colours(SIGNED)),
        "digits": 3 if walk.mean else 0,
        "editable": editable,
        "edited": edited,
        "label": walk.name,
        "at": _place(*made.output.shape),
    }


def _place(rows: int, columns: int) -> tuple[int, int]:
    """The output under the cursor: clicked, else from the link, else a third from the top left."""
    at = st.session_state.get("_slide_at")
    if at is not None:
        put("slide_at", f"{at[0]},{at[1]}")
    else:
        at = linked("slide_at", PLACE) or (rows // 3, columns // 3)
    return min(at[0], rows - 1), min(at[1], columns - 1)
