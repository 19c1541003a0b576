"""Save what is on a card: the picture, and its numbers."""

import io
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture

if TYPE_CHECKING:
    from vizkit.analysis.attention_map import Query
    from vizkit.geometry import Box
    from vizkit.trace import Trace


def save(
    index: int, trace: "Trace", picture: Picture, box_xyxy: "Box", query: "Query", layer: int, head: int | None
) -> None:
    """Nothing is rendered before it is asked for."""
    stem = f"{trace.model.replace(':', '_').replace('/', '_')}_layer{layer}"

    def png() -> bytes:
        from PIL import Image

        from vizkit.figure.overlay import overlay

        drawn = overlay(picture.rgb, shown_map(trace, query, layer, head), box_xyxy)
        buffer = io.BytesIO()
        Image.fromarray(drawn).save(buffer, "PNG")
        return buffer.getvalue()

    def numbers() -> bytes:
        from vizkit.saving import npz_bytes

        return npz_bytes(trace)

    with st.popover("Save", icon=":material/download:"):
        st.download_button("Picture (PNG)", png, f"{stem}.png", "image/png", key=f"png{index}", on_click="ignore")
        st.download_button(
            "Numbers of all layers (NPZ)",
            numbers,
            f"{stem}.npz",
            "application/zip",
            key=f"npz{index}",
            on_click="ignore",
        )


def shown_map(trace: "Trace", query: "Query", layer: int, head: int | None):  # noqa: ANN201
    """The map that the card shows, as numpy (row, column)."""
    from vizkit.analysis.attention_map import attention_map, layers
    from vizkit.analysis.feature_strength import feature_strength

    found = layers(trace)
    if found:
        return attention_map(found[min(layer, len(found)) - 1], query, head).places.numpy()
    return feature_strength(trace.features[min(layer, len(trace.features)) - 1]).numpy()
