"""The canvas with the maps of a layer's channels: what it receives, and what it reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from jaxtyping import Float

from vizkit.figure.canvas.rows import sixteen_bits, step_of, text64
from vizkit.figure.palette import SCALE, SIGNED, colours
from vizkit.image import Picture
from vizkit.ui.canvas import Canvas, linked
from vizkit.ui.session import cached
from vizkit.ui.session.address import put
from vizkit.ui.session.shown import Shown
from vizkit.views.rules import below, tuple_of

if TYPE_CHECKING:
    from vizkit.models.probes.convolution.receptive_field import Seen

HERE = Path(__file__).parent
Unit = tuple[int, int, int]
MOST = 100_000  # of channels, and of places of a map
MAPS = Canvas(
    "vizkit_feature_maps",
    "<div class='maps'><div class='inside'><section><canvas class='photo'></canvas><span class='said'></span>"
    "</section><div class='grid'></div></div></div>",
    HERE / "maps.css",
    HERE / "maps.js",
)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The maps of some channels, strongest first; `seen`: what their units can see, None for the whole image."""

    name: str
    maps: Float[np.ndarray, "channel row column"]
    channels: Sequence[int]
    strengths: Sequence[float]
    seen: "Seen | None"


def unit_of(drawn: Drawn) -> Unit:
    """(channel, row, column): clicked, else from the link, else the largest of the strongest channel."""
    unit = st.session_state.get("_maps_unit") or linked("maps_unit", tuple_of(*[below(MOST)] * 3))
    rows, columns = drawn.maps.shape[1:]
    if unit is not None and unit[0] in drawn.channels and unit[1] < rows and unit[2] < columns:
        if "_maps_unit" in st.session_state:
            put("maps_unit", ",".join(map(str, unit)))
        return unit
    place = int(np.abs(drawn.maps[0]).argmax())
    return drawn.channels[0], place // columns, place % columns


def show(key: str, drawn: Drawn, unit: Unit, shown: Shown, picture: Picture) -> None:
    def chosen(unit: Unit) -> None:
        st.session_state["_maps_unit"] = unit

    height, width = picture.rgb.shape[:2]
    x0, y0, x1, y1 = shown.box_xyxy
    low, high = float(drawn.maps.min()), float(drawn.maps.max())
    seen, signed = drawn.seen, low < -0.2 * max(high, 1e-9)  # GELU and its like reach a little below 0
    tops = np.abs(drawn.maps).max((1, 2)) if signed else drawn.maps.max((1, 2))
    MAPS(
        key=key,
        data={
            "of": f"{shown.source} {picture.digest} {drawn.name}",
            "values": text64(sixteen_bits(drawn.maps, low, high)),
            "low": low,
            "step": step_of(low, high),
            "tops": tops.tolist(),
            "grid": drawn.maps.shape[1:],
            "channels": list(drawn.channels),
            "strengths": list(drawn.strengths),
            "signed": signed,
            "colours": text64(colours(SIGNED if signed else SCALE)),
            "rows": None if seen is None else (seen.rows.start, seen.rows.size, seen.rows.jump),
            "columns": None if seen is None else (seen.columns.start, seen.columns.size, seen.columns.jump),
            "whole": seen is not None and seen.whole,
            "unit": (list(drawn.channels).index(unit[0]), unit[1], unit[2]),
            "input": shown.loaded.preprocessing.size_hw,
            "image": cached.browser_image(picture.digest, picture.rgb),
            "image_size": (height, width),
            "box": (x0 / width, y0 / height, x1 / width, y1 / height),
            "label": f"The image with the pixels that a unit of {drawn.name} can see",
        },
        unit=(tuple_of(*[below(MOST)] * 3), chosen),
    )
