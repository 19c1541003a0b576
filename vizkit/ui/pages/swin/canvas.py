"""The canvas that plays one block of a Swin: what it receives, and what it reports."""

from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.analysis.swin.shifted_windows import Layout, allowed, window_of
from vizkit.figure.canvas.rows import sixteen_bits, step_of, text64
from vizkit.figure.palette import REGIONS, colours
from vizkit.image import Picture
from vizkit.ui.canvas import Canvas, linked
from vizkit.ui.session import cached
from vizkit.ui.session.address import put
from vizkit.views.rules import below, tuple_of, whole

HERE = Path(__file__).parent
STEPS = ("Grid", "Roll", "Windows", "Mask", "Attention", "Roll back")

WINDOWS = Canvas(
    "vizkit_windows",
    # The sentence above the picture: below it, it is off the screen while the steps play.
    "<nav></nav>\n<output aria-live='polite'></output><canvas tabindex='0' role='application'></canvas>"
    "<p><span>0</span><i></i><span></span></p><small></small>",
    HERE / "windows.css",
    HERE / "windows_pictures.js",
    HERE / "windows.js",
)


def block_for_browser(layout: Layout, token_id: int, weights: Tensor, *, countable: bool = False) -> dict[str, Any]:
    """The rolled grid, and the mask and 16-bit weights (query, key) of the window that holds the token.

    `countable`: numbers are written on everything.
    """
    window, _ = window_of(layout, token_id)
    values = weights.numpy()
    largest = float(values.max())
    return {
        "grid": layout.grid,
        "size": tuple(layout.ids.shape),
        "window": layout.window,
        "shift": layout.shift,
        "pad_first": layout.pad_first,
        "ids": text64(layout.ids.numpy().astype("<i4")),
        "regions": text64(layout.regions.numpy().astype(np.uint8)),
        "region_colours": REGIONS,
        "chosen": window,
        "token": token_id,
        "allowed": text64(allowed(layout, window).numpy().astype(np.uint8)),
        "weights": text64(sixteen_bits(values, 0.0, largest)),
        "unit": step_of(0.0, largest),
        "numbers": countable,
    }


def on_picture(picture: Picture, box_xyxy: tuple[float, float, float, float], grid: tuple[int, int]) -> dict[str, Any]:
    """The part of the picture that the model saw, under the grid. `aspect`: height of a token by its width."""
    height, width = picture.rgb.shape[:2]
    x0, y0, x1, y1 = box_xyxy
    return {
        "image": cached.browser_image(picture.digest, picture.rgb),
        "image_size": (height, width),
        "box": (x0 / width, y0 / height, x1 / width, y1 / height),
        "aspect": (y1 - y0) / grid[0] / ((x1 - x0) / grid[1]),
    }


NO_PICTURE = {"image": None, "image_size": (0, 0), "box": (0, 0, 1, 1), "aspect": 1.0}


def play(key: str, content: dict[str, Any], words: Sequence[str], label: str, picked: Callable[[int], None]) -> None:
    """Mount the canvas. `words`: one text for each of STEPS. A click gives `picked` the id of a token.

    The step is kept in the session and in the address.
    """

    def moved(step: int) -> None:
        st.session_state["_shift_step"] = step

    WINDOWS(
        key=key,
        data={
            **content,
            "colours": text64(colours()),
            "steps": list(zip(STEPS, words, strict=True)),
            "step": _step_now(),
            "label": f"{label}. Use the arrow keys to choose a token.",
            "hint": "Click a token; its window is the chosen one.",
        },
        step=(below(len(STEPS)), moved),
        token=(below(prod(content["grid"])), picked),
    )


def _step_now() -> int:
    """The step that was shown last, else that of the link, from 0."""
    if "_shift_step" in st.session_state:
        put("shift_step", str(st.session_state["_shift_step"] + 1))
    (number,) = linked("shift_step", tuple_of(whole(1, len(STEPS)))) or (1,)
    return number - 1
