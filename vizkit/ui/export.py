"""Save what is on the page: pictures, and the numbers behind them."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from PIL import Image

from vizkit.figure.attention.mosaic import mosaic
from vizkit.figure.palette import SCALE, SIGNED
from vizkit.image import Picture
from vizkit.saving import npz_bytes

if TYPE_CHECKING:
    from vizkit.analysis.attention.attention_map import Query
    from vizkit.geometry import Box
    from vizkit.traces import Trace
    from vizkit.ui.session.shown import Shown


def save_card(index: int, shown: "Shown", picture: Picture, layer: int, head: int | None) -> None:
    """Nothing is drawn before it is asked for, and what waits for that holds no trace: the server keeps it as long as
    the page is open."""
    box_xyxy, query, again = shown.box_xyxy, shown.query, shown.again
    layer = min(layer, shown.depth)  # the slider goes as far as the deepest model
    stem = f"{name_of_file(shown.trace.model)}_layer{layer}_{'mean' if head is None else f'head{head + 1}'}"

    def png() -> bytes:
        from vizkit.figure.overlay import overlay

        return _png_bytes(overlay(picture.rgb, _shown_map(again(), query, layer, head), box_xyxy))

    def svg() -> str:
        from vizkit.figure.vector import vector_overlay

        return vector_overlay(picture.rgb, _shown_map(again(), query, layer, head), box_xyxy, title=stem)

    def html() -> str:
        return page_of(stem, svg())

    def numbers() -> bytes:
        return npz_bytes(again())

    with st.popover("Save", icon=":material/download:"):
        for label, make, suffix, kind in (
            ("Picture (PNG)", png, "png", "image/png"),
            ("Drawing (SVG)", svg, "svg", "image/svg+xml"),
            ("Page (HTML)", html, "html", "text/html"),
            ("Numbers of all layers (NPZ)", numbers, "npz", "application/zip"),
        ):
            st.download_button(label, make, f"{stem}.{suffix}", kind, key=f"{suffix}{index}", on_click="ignore")


def save_mosaic(shown: "Shown", shared: bool) -> None:
    query, again = shown.query, shown.again

    def png() -> bytes:
        from vizkit.analysis.attention.attention_map import all_heads

        maps = [None if m is None else m.numpy() for m in all_heads(again(), query)]
        return _png_bytes(mosaic(maps, shared=shared))

    st.download_button(
        "Save (PNG)",
        png,
        f"{name_of_file(shown.trace.model)}_all_heads.png",
        "image/png",
        key="mosaic_png",
        icon=":material/download:",
        on_click="ignore",
    )


@dataclass(frozen=True, eq=False)
class Drawing:
    """A map to save. `signed`: drawn from blue below 0 to red above. `unit`: "%" for shares, "" for other numbers.
    `quantile`: of the magnitudes, where colours end."""

    places: Float[np.ndarray, "row column"]
    signed: bool = False
    unit: str = "%"
    quantile: float = 1.0

    def painted(self) -> dict[str, Any]:
        from vizkit.figure.overlay import top_of

        return {"scale": SIGNED if self.signed else SCALE, "top": top_of(self.places, self.quantile)}


def save_maps(
    key: str, stem: str, picture: Picture, box_xyxy: "Box", maps: dict[str, Drawing], numbers: Callable[[], bytes]
) -> None:
    """Any map as picture, drawing and page, chosen by name where there are several; `numbers`: all of them as NPZ."""
    with st.popover("Save", icon=":material/download:"):
        name = next(iter(maps)) if len(maps) == 1 else st.selectbox("Map", list(maps), key=f"saved_{key}")
        drawing, file = maps[name], name_of_file(f"{stem}_{name}")

        def png() -> bytes:
            from vizkit.figure.overlay import overlay

            return _png_bytes(overlay(picture.rgb, drawing.places, box_xyxy, **drawing.painted()))

        def svg() -> str:
            from vizkit.figure.vector import vector_overlay

            options = {"title": file, "unit": drawing.unit, **drawing.painted()}
            return vector_overlay(picture.rgb, drawing.places, box_xyxy, **options)

        for label, make, suffix, kind in (
            ("Picture (PNG)", png, "png", "image/png"),
            ("Drawing (SVG)", svg, "svg", "image/svg+xml"),
            ("Page (HTML)", lambda: page_of(file, svg()), "html", "text/html"),
            ("Numbers (NPZ)", numbers, "npz", "application/zip"),
        ):
            st.download_button(label, make, f"{file}.{suffix}", kind, key=f"{suffix}_{key}", on_click="ignore")


def page_of(title: str, svg: str) -> str:
    return f'<!doctype html><meta charset="utf-8"><title>{title}</title>{svg}'


def _png_bytes(rgb: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "PNG")
    return buffer.getvalue()


def npz_of(**arrays: Any) -> bytes:  # noqa: ANN401
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def name_of_file(model: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in model)


def _shown_map(trace: "Trace", query: "Query", layer: int, head: int | None) -> np.ndarray:
    """The map that the card shows, (row, column)."""
    from vizkit.analysis.attention.attention_map import attention_map, layers
    from vizkit.analysis.attention.feature_strength import feature_strength

    recorded = layers(trace)
    if recorded:
        return attention_map(recorded[min(layer, len(recorded)) - 1], query, head).places.numpy()
    return feature_strength(trace.features[min(layer, len(trace.features)) - 1]).numpy()
