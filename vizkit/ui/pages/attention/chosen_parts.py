"""The layer and the query that the Explorer takes apart."""

import streamlit as st

from vizkit.analysis.attention.attention_map import find_query, layers
from vizkit.image import Picture
from vizkit.models.probes.parts import Parts
from vizkit.traces import NotApplicable
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, keep_valid


def chosen_parts(shown: Shown, picture: Picture) -> tuple[Parts, int, int]:
    """(the chosen layer taken apart, its index, the position of the query in it). Draws the controls of both."""
    recorded = layers(shown.trace)
    if not recorded:
        raise NotApplicable(f"{shown.source} has no queries, keys and weights to follow.")
    keep_valid("layer", range(1, len(recorded) + 1))
    special = shown.special()
    keep_valid("query", ["patch", *special])
    with st.container(width=260):
        layer = st.slider("Layer", 1, max(2, len(recorded)), min(2, len(recorded)), key="layer", bind="query-params")
    st.segmented_control(
        "Query", ["patch", *special], default="patch", required=True, key="query", bind="query-params",
        format_func=lambda name: name if name == "patch" else f"[{name}]",
    )  # fmt: skip
    index = min(int(layer), len(recorded)) - 1
    query_id, _ = find_query(recorded[index], shown.query)
    parts = cached.parts(shown.source, picture, shown.loaded, index, query_id)
    return parts, index, parts.query_ids.tolist().index(query_id)


def name_of_layer(parts: Parts) -> str:
    window = f" · window {parts.window + 1} of {parts.windows}" if parts.windows > 1 else ""
    return f"`{parts.name}`{window} · {parts.weights.shape[0]} heads of {parts.query.shape[-1]} channels"
