"""The view Relative: the bias that a layer adds by the offset of two patches, or the similarity of their rotations."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.remarks import positions
from vizkit.figure.attention.bias_map import bias_map
from vizkit.figure.charts import heat_map
from vizkit.ui import reading
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark

if TYPE_CHECKING:
    from vizkit.models.probes.positions import RelativeBias


def view(page: Page) -> None:
    relative(page.focus)
    reading.how(
        "The middle is the query; a cell says how much a key at that offset gains or loses before softmax (relative "
        "bias), or how much of a product of equal vectors is left after rotation (RoPE). The index table says which "
        "entry a pair of patches picks: pairs of one offset share one number.",
        r"\mathrm{softmax}\!\left(QK^\top/\sqrt{d} + B\right), \quad B_{ij} = \hat B[\,p_i - p_j\,]",
        "where a head attends: the product of query and key is added to it.",
        "Liu et al. 2021, eq. 4; Su et al. 2021",
    )


def relative(shown: Shown) -> None:
    from vizkit.models.probes.positions import biased_layers, kind, relative_bias, rope_similarity

    if "rotary" in kind(shown.loaded):
        heads = rope_similarity(shown.loaded)
        down, right = heads.shape[1] // 2, heads.shape[2] // 2
        head = 1
        if len(heads) > 1:
            head = int(st.number_input("Head", 1, len(heads), 1, key="rope_head", bind="query-params", width=120))
        figure = heat_map(
            heads[head - 1].numpy(), "columns right", "rows down", "Similarity of rotations by offset", signed=True,
            x_names=_names_of_offsets(right), y_names=_names_of_offsets(down), limit=1.0, height=460,
        )  # fmt: skip
        chart(figure, "rope", "Similarity of rotations by offset")
    layers = biased_layers(shown.loaded.model)
    if layers:
        keep_valid("bias_layer", range(1, len(layers) + 1))
        layer = int(st.slider("Layer", 1, max(2, len(layers)), 1, key="bias_layer", bind="query-params",
                              disabled=len(layers) < 2, width=320))  # fmt: skip
        bias = relative_bias(shown.loaded, min(layer, len(layers)) - 1)
        st.caption(f"`{bias.name}` · window {bias.window[0]} × {bias.window[1]} · {len(bias.by_offset)} heads")
        by_head(bias)
        digits = 0 if len(bias.index) <= 16 else None
        figure = heat_map(
            bias.index.numpy().astype(float), "key", "query", "Index table: which entry", digits=digits, height=460
        )
        with st.container(width=560):
            chart(figure, "bias_index", "Which entry of the bias table each pair of places reads")


def by_head(bias: "RelativeBias") -> None:
    """Every head's bias on one scale. A bias without a sign (Swin v2) has the colours of its own range, and where most
    of it stands at an end of that, those of its ranks."""
    values, limit = bias.by_offset, float(bias.by_offset.abs().max()) or 1.0
    plain_signs = bool((values < 0).any())
    ranked = not plain_signs and positions.saturated(values) > 0.5
    down, across = (_names_of_offsets(side - 1) for side in bias.window)
    for start in range(0, len(values), 4):
        for column, head in zip(st.columns(4), range(start, min(start + 4, len(values))), strict=False):
            if plain_signs:
                figure = heat_map(values[head].numpy(), "columns right", "rows down", f"Head {head + 1}", signed=True,
                                  x_names=across, y_names=down, limit=limit, height=280)  # fmt: skip
            else:
                figure = bias_map(values.numpy(), head, ranked=ranked, x_names=across, y_names=down)
            with column:
                chart(figure, f"bias_{head}", f"Bias by offset, head {head + 1}")
    remark(positions.bias(values))
    if not plain_signs:
        scale = "Colours by rank: equal steps of colour are equal numbers of entries." if ranked else ""
        st.caption(f"All between {float(values.min()):.2f} and {float(values.max()):.2f}, one scale for all heads. "
                   f"{scale} A constant added to all keys changes nothing: only differences count.")  # fmt: skip
        if bias.table is None:
            remark(positions.saturation(values))


def _names_of_offsets(reach: int) -> list[str]:
    return [f"{offset:+d}" if offset else "0" for offset in range(-reach, reach + 1)]
