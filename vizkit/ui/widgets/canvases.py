"""What the canvases of the browser are given of a trace; and the mosaic of all heads, in which one is picked."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.analysis.attention.attention_map import all_heads, layers
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import colours
from vizkit.ui.canvas import Canvas
from vizkit.views.rows_of import (
    MAX_MATRIX as MAX_MATRIX,
)
from vizkit.views.rows_of import (
    grid_for_browser as grid_for_browser,
)
from vizkit.views.rows_of import (
    layer_for_browser as layer_for_browser,
)
from vizkit.views.rows_of import (
    rows_for_browser as rows_for_browser,
)
from vizkit.views.rows_of import (
    similarity_for_browser as similarity_for_browser,
)
from vizkit.views.rows_of import (
    stage_for_browser as stage_for_browser,
)
from vizkit.views.rules import below, tuple_of

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attention.attention_map import Query
    from vizkit.traces import Trace

HERE = Path(__file__).parent

MOSAIC = Canvas(
    "vizkit_mosaic",
    "<canvas tabindex='0' role='application'></canvas><output aria-live='polite'></output>\n",
    HERE / "mosaic.css",
    HERE / "mosaic.js",
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
