"""The canvas of Enlarge: what it receives, and what it reports."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.figure.canvas.rows import SHORT, sixteen_bits, text64
from vizkit.figure.palette import colours
from vizkit.image import data_url
from vizkit.ui.canvas import Canvas, linked
from vizkit.ui.pages.super_resolution.given import RGB, Given
from vizkit.ui.session.address import put
from vizkit.views.rules import below, tuple_of

if TYPE_CHECKING:
    from vizkit.models.super_resolution import Seen

HERE = Path(__file__).parent
CANVAS = Canvas(
    "vizkit_super_resolution",
    "<div class='enlarge'><canvas tabindex='0' role='img'></canvas><p class='says'></p>"
    "<div class='patches'></div></div>",
    HERE / "canvas.css",
    SHORT,
    HERE / "canvas.js",
)


def canvas(
    key: str,
    given: Given,
    seen: "Seen",
    beside: RGB,
    own: RGB,
    titles: tuple[str, str],
    over: np.ndarray | None,
) -> None:
    """Mount it. The place that was clicked stays in the session and in the address. `titles`: of what lies left and
    right of the bar; `over`: laid over the right one, (row, column), 0 to 1."""

    def chosen(at: tuple[int, int]) -> None:
        st.session_state["_sr_at"] = at

    import torch

    relevance = (seen.queries.T @ seen.keys).numpy()
    data = {
        "of": f"{given.digest} {titles} {over is None}",
        "beside": data_url(beside),
        "own": data_url(own),
        "reference": data_url(seen.reference),
        "titles": titles,
        "grid": seen.grid,
        "key_grid": seen.key_grid,
        "place": seen.place.tolist(),
        "gate": [round(share, 3) for share in torch.stack(seen.gates).amax(0).tolist()],
        "relevance": text64(sixteen_bits(relevance, -1.0, 1.0)),
        "over": None if over is None else text64((over * 255).round().astype(np.uint8)),
        "over_size": None if over is None else over.shape,
        "colours": text64(colours()),
        "at": place_of(seen.grid),
        "label": "The enlarged picture and its reference. Arrow keys choose a place.",
    }
    CANVAS(key, data, at=(tuple_of(*map(below, seen.grid)), chosen))


def place_of(grid: tuple[int, int]) -> tuple[int, int]:
    """The chosen place: clicked, else from the link, else the middle."""
    at = st.session_state.get("_sr_at")
    if at is not None:
        put("sr_at", f"{at[0]},{at[1]}")
    else:
        at = linked("sr_at", tuple_of(below(1000), below(1000))) or (grid[0] // 2, grid[1] // 2)
    return min(at[0], grid[0] - 1), min(at[1], grid[1] - 1)
