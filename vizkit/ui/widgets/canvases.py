"""What the canvases of the browser are given of a trace; and the mosaic of all heads, in which one is picked."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.analysis.attention.attention_map import all_heads, find_query, fused, layers
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.analysis.attention.positions import similarity, similarity_to
from vizkit.figure.canvas.rows import Rows, text64
from vizkit.figure.palette import colours
from vizkit.geometry import id_at
from vizkit.ui.canvas import Canvas
from vizkit.views.rules import below, tuple_of

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attention.attention_map import Query
    from vizkit.models.probes.parts import Parts
    from vizkit.traces import Attention, Features, Tokens, Trace

HERE = Path(__file__).parent
MAX_MATRIX = 2_500_000  # weights of one layer sent to the browser for hovering; above, only the chosen row

MOSAIC = Canvas(
    "vizkit_mosaic",
    "<canvas tabindex='0' role='application'></canvas><output aria-live='polite'></output>\n",
    HERE / "mosaic.css",
    HERE / "mosaic.js",
)


def layer_for_browser(attention: "Attention", head: int | None, query: "Query", shared: bool) -> Rows:
    """One layer in its own groups; above MAX_MATRIX weights only the chosen row.

    `shared`: one scale for all heads of the layer, so that a head with uniform attention looks uniform.
    """
    if attention.key.grid is None:
        return Rows(np.zeros((0, 0)), None)
    weights = fused(attention, head).numpy()
    query_ids, key_ids = attention.query_ids.numpy(), attention.key_ids.numpy()
    if weights.size > MAX_MATRIX:
        chosen, _ = find_query(attention, query)
        group, position = (int(n) for n in np.argwhere(query_ids == chosen)[0])
        weights = weights[group, position][None, None]
        query_ids, key_ids = query_ids[group, position][None, None], key_ids[group][None]
    return Rows(
        weights, attention.key.grid, attention.query.grid, query_ids, key_ids, attention.query.special,
        attention.key.special, top=float(attention.weights.max()) if shared else 0.0,
    )  # fmt: skip


def stage_for_browser(features: "Features") -> Rows:
    """One stage of a network without attention: the strength of its features as the only row there is."""
    strength = feature_strength(features)
    row = (strength / (float(strength.sum()) or 1.0)).numpy().reshape(1, -1)
    return Rows(row, features.tokens.grid, kind="features")


def similarity_for_browser(table: "Tensor", tokens: "Tokens", query: "Query") -> Rows:
    """Cosine of every token's vector (token, channel) with every other's, −1 to 1; above MAX_MATRIX numbers only the
    chosen token's, for the first stage of a VGG has 50,176 places, whose matrix would be 10 GB."""
    if len(table) ** 2 > MAX_MATRIX:
        at = tokens.special.index(query) if isinstance(query, str) else id_at(tokens, query)
        chosen = at or 0  # without a grid no place can be chosen, and none is drawn
        cosine, query_ids = similarity_to(table, chosen).numpy()[None], np.array([chosen])
    else:
        cosine, query_ids = similarity(table).numpy(), None
    return Rows(
        cosine, tokens.grid, tokens.grid, query_ids, None, tokens.special, tokens.special,
        bounds=(-1.0, 1.0), low=-1.0, top=1.0, kind="similarity",
    )  # fmt: skip


def rows_for_browser(weights: "Tensor", parts: "Parts") -> Rows:
    """One matrix (query, key) of a layer taken apart; for Swin the rows of one window."""
    query, key = parts.tokens, parts.key_tokens
    query_ids, key_ids = parts.query_ids.numpy(), parts.key_ids.numpy()
    return Rows(weights.numpy(), key.grid, query.grid, query_ids, key_ids, query.special, key.special)


def grid_for_browser(tokens: "Tokens") -> Rows:
    """Nothing but the grid: a card to pick a patch in."""
    nothing = np.zeros((len(tokens), 1), np.float32)
    return Rows(
        nothing, tokens.grid, tokens.grid, query_special=tokens.special, key_special=tokens.special, kind="pick"
    )


def mosaic(key: str, trace: "Trace", query: "Query", layer: int, head: int | None, shared: bool) -> None:
    """Every layer × head for one query. A click sets the page's layer and head."""
    maps = all_heads(trace, query)
    content = {
        "maps": base64.b64encode(b"".join(_eight_bits(m, shared) for m in maps if m is not None)).decode(),
        "layers": layout(maps, [a.name for a in layers(trace)]),
        "layer": layer,
        "head": head,
        "colours": text64(colours()),
        "label": f"All layers and heads of {trace.model}. Use the arrow keys to choose.",
        "hint": "Rows are layers, columns are heads. Click one to see it large.",
    }

    def picked(pick: tuple[int, int]) -> None:
        st.session_state["layer"], st.session_state["head"] = pick[0] + 1, str(pick[1] + 1)

    heads = max(line["heads"] for line in content["layers"])
    MOSAIC(key, content, pick=(tuple_of(below(len(maps)), below(heads)), picked))


def _eight_bits(maps: "Tensor", shared: bool) -> bytes:
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
