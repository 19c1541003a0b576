"""Two canvases in the browser: a model's card, in which a patch is picked, and the mosaic, in which a head is."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from streamlit.components.v2 import component

from vizkit.figure.overlay import CEILING, FLOOR

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attention.attention_map import Query
    from vizkit.models.probes.parts import Parts
    from vizkit.traces import Attention, Features, Tokens, Trace

HERE = Path(__file__).parent
MAX_MATRIX = 2_500_000  # weights of one layer sent to the browser for hovering; above, only the chosen row

OPACITIES = {"over image": (FLOOR, CEILING), "map only": (1.0, 1.0), "image only": (0.0, 0.0)}

CARD = component(
    "vizkit_look",
    html="<canvas tabindex='0' role='application'></canvas><p><span>0</span><i></i><span></span></p>"
    "<output aria-live='polite'></output><ol></ol>",
    css=(HERE / "look.css").read_text(encoding="utf-8"),
    js=(HERE / "look.js").read_text(encoding="utf-8"),
)
MOSAIC = component(
    "vizkit_mosaic",
    html="<canvas tabindex='0' role='application'></canvas><output aria-live='polite'></output>\n",
    css=(HERE / "mosaic.css").read_text(encoding="utf-8"),
    js=(HERE / "mosaic.js").read_text(encoding="utf-8"),
)


def text64(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def layer_for_browser(attention: "Attention", head: int | None, query: "Query", shared: bool) -> dict[str, Any]:
    """One layer as the card reads it: 16-bit weights in the layer's own groups, ids, grids, the top of the scale.

    `shared`: one scale for all heads of the layer, so that a head that attends nowhere looks like it.
    """
    from vizkit.analysis.attention.attention_map import find_query, fused

    if attention.key.grid is None:
        return {"key_grid": None, "weights": "", "query_ids": "", "key_ids": ""}
    weights = fused(attention, head).numpy()
    query_ids, key_ids = attention.query_ids.numpy(), attention.key_ids.numpy()
    if weights.size > MAX_MATRIX:
        wanted, _ = find_query(attention, query)
        group, position = (int(n) for n in np.argwhere(query_ids == wanted)[0])
        weights = weights[group, position][None, None]
        query_ids, key_ids = query_ids[group, position][None, None], key_ids[group][None]
    largest = float(weights.max()) or 1.0
    return {
        "weights": text64((weights * (65535 / largest)).round().astype("<u2")),
        "step": largest / 65535,
        "queries": weights.shape[1],
        "keys": weights.shape[2],
        "query_ids": text64(query_ids.astype("<i4")),
        "key_ids": text64(key_ids.astype("<i4")),
        "query_grid": attention.query.grid,
        "key_grid": attention.key.grid,
        "query_special": attention.query.special,
        "key_special": attention.key.special,
        "top": float(attention.weights.max()) if shared else 0,
    }


def stage_for_browser(features: "Features") -> dict[str, Any]:
    """One stage of a network without attention: the strength of its features as the only row there is."""
    from vizkit.analysis.attention.feature_strength import feature_strength

    strength = feature_strength(features)
    total = float(strength.sum()) or 1.0
    row = (strength / total).numpy().reshape(1, -1)
    largest = float(row.max()) or 1.0
    return {
        "kind": "features",
        "weights": text64((row * (65535 / largest)).round().astype("<u2")),
        "step": largest / 65535,
        "queries": 1,
        "keys": row.shape[1],
        "query_ids": text64(np.zeros((1, 1), "<i4")),
        "key_ids": text64(np.arange(row.shape[1], dtype="<i4")[None]),
        "query_grid": None,
        "key_grid": features.tokens.grid,
        "query_special": (),
        "key_special": (),
        "top": 0,
    }


def similarity_for_browser(table: "Tensor", tokens: "Tokens", query: "Query") -> dict[str, Any]:
    """Cosine of every token's vector (token, channel) with every other's, −1 to 1, as a card reads it."""
    from vizkit.analysis.attention.positions import similarity
    from vizkit.geometry import id_at

    cosine = similarity(table).numpy()
    query_ids = np.arange(len(cosine), dtype="<i4")[None]
    if cosine.size > MAX_MATRIX:
        wanted = tokens.special.index(query) if isinstance(query, str) else id_at(tokens, query)
        cosine, query_ids = cosine[wanted][None], np.array([[wanted]], "<i4")
    return {
        "kind": "similarity",
        "weights": text64(((cosine.clip(-1, 1) + 1) / 2 * 65535).round().astype("<u2")),
        "step": 2 / 65535,
        "offset": -1.0,
        "low": -1.0,
        "top": 1.0,
        "queries": len(cosine),
        "keys": cosine.shape[1],
        "query_ids": text64(query_ids),
        "key_ids": text64(np.arange(cosine.shape[1], dtype="<i4")[None]),
        "query_grid": tokens.grid,
        "key_grid": tokens.grid,
        "query_special": tokens.special,
        "key_special": tokens.special,
    }


def rows_for_browser(weights: "Tensor", parts: "Parts") -> dict[str, Any]:
    """One matrix (query, key) of a layer taken apart; for Swin the rows of one window."""
    values = weights.numpy()
    largest = float(values.max()) or 1.0
    return {
        "weights": text64((values * (65535 / largest)).round().astype("<u2")),
        "step": largest / 65535,
        "queries": values.shape[0],
        "keys": values.shape[1],
        "query_ids": text64(parts.query_ids.numpy().astype("<i4")),
        "key_ids": text64(parts.key_ids.numpy().astype("<i4")),
        "query_grid": parts.tokens.grid,
        "key_grid": parts.key_tokens.grid,
        "query_special": parts.tokens.special,
        "key_special": parts.key_tokens.special,
        "top": 0,
    }


def grid_for_browser(tokens: "Tokens") -> dict[str, Any]:
    """Nothing but the grid: a card to pick a patch in."""
    ids = np.arange(len(tokens), dtype="<i4")
    return {
        "kind": "pick",
        "weights": text64(np.zeros(len(tokens), "<u2")),
        "step": 0.0,
        "queries": len(tokens),
        "keys": 1,
        "query_ids": text64(ids),
        "key_ids": text64(np.zeros(1, "<i4")),
        "query_grid": tokens.grid,
        "key_grid": tokens.grid,
        "query_special": tokens.special,
        "key_special": tokens.special,
    }


def card(key: str, layer: dict[str, Any], draw: str, query_key: str = "query", **shown: Any) -> None:  # noqa: ANN401
    """Mount a card. A click goes to `session_state["at"]`, the one cursor of the page, and its query is a patch now."""
    from vizkit.figure.palette import colours

    def clicked() -> None:
        point = st.session_state[key].point
        if point is not None:
            st.session_state["at"] = (float(point[0]), float(point[1]))
            st.session_state[query_key] = "patch"

    floor, ceiling = OPACITIES[draw]
    content = {**layer, **shown, "colours": text64(colours()), "floor": floor, "ceiling": ceiling}
    CARD(key=key, data=content, on_point_change=clicked)


def mosaic(key: str, trace: "Trace", query: "Query", layer: int, head: int | None, shared: bool) -> None:
    """Every layer × head for one query. A click sets the page's layer and head."""
    from vizkit.analysis.attention.attention_map import all_heads, layers
    from vizkit.figure.palette import colours

    maps = all_heads(trace, query)
    content = {
        "maps": base64.b64encode(b"".join(eight_bits(m, shared) for m in maps if m is not None)).decode(),
        "layers": layout(maps, [a.name for a in layers(trace)]),
        "layer": layer,
        "head": head,
        "colours": text64(colours()),
        "label": f"All layers and heads of {trace.model}. Use the arrow keys to choose.",
        "hint": "Rows are layers, columns are heads. Click one to see it large.",
    }

    def picked() -> None:
        pick = st.session_state[key].pick
        if pick is not None:
            st.session_state["layer"], st.session_state["head"] = int(pick[0]) + 1, str(int(pick[1]) + 1)

    MOSAIC(key=key, data=content, on_pick_change=picked)


def eight_bits(maps: "Tensor", shared: bool) -> bytes:
    """(head, row, column) as bytes, each map up to its own maximum or all up to the layer's."""
    top = maps.max() if shared else maps.amax((1, 2), keepdim=True)
    return (maps / top.clamp(min=1e-12) * 255).round().clamp(0, 255).byte().numpy().tobytes()


def layout(maps: "list[Tensor | None]", names: list[str]) -> list[dict[str, Any]]:
    """Where each layer's maps begin in the bytes."""
    rows, start = [], 0
    for tensor, name in zip(maps, names, strict=True):
        heads, height, width = tensor.shape if tensor is not None else (1, 0, 0)
        rows.append({"name": name, "heads": heads, "rows": height, "columns": width, "start": start})
        start += heads * height * width
    return rows
