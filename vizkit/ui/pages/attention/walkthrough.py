"""One query in one head, followed step by step with the numbers that the model computed."""

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.analysis.attention.attention_map import find_query, layers
from vizkit.analysis.attention.walkthrough import Steps, pair, saturation, single_head
from vizkit.analysis.attention.walkthrough import steps as steps_of
from vizkit.figure.charts import heat_map
from vizkit.figure.patches import strip
from vizkit.geometry import name_of, on_grid
from vizkit.image import Picture
from vizkit.models.probes.parts import Parts
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map


def chosen_parts(shown: Shown, picture: Picture) -> tuple[Parts, int]:
    """(the chosen layer taken apart, the position of the query in it). Draws the layer and query controls."""
    recorded = layers(shown.trace)
    if not recorded:
        raise NotApplicable(f"{shown.source} has no queries, keys and weights to follow.")
    keep_valid("layer", range(1, len(recorded) + 1))
    special = shown.special()
    keep_valid("query", ["patch", *special])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=260):
            layer = st.slider(
                "Layer", 1, max(2, len(recorded)), min(2, len(recorded)), key="layer", bind="query-params"
            )
        st.segmented_control(
            "Query", ["patch", *special], default="patch", required=True, key="query", bind="query-params",
            format_func=lambda name: name if name == "patch" else f"[{name}]",
        )  # fmt: skip
    index = min(int(layer), len(recorded)) - 1
    query_id, _ = find_query(recorded[index], shown.query)
    parts = cached.parts(shown.source, picture, shown.loaded, index, query_id)
    return parts, parts.query_ids.tolist().index(query_id)


def name_of_layer(parts: Parts) -> str:
    window = f" · window {parts.window + 1} of {parts.windows}" if parts.windows > 1 else ""
    return f"`{parts.name}`{window} · {parts.weights.shape[0]} heads of {parts.query.shape[-1]} channels"


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    parts, position = chosen_parts(shown, picture)
    heads = parts.weights.shape[0]
    keep_valid("walk_head", range(1, heads + 1))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        head = int(st.number_input("Head", 1, heads, 1, key="walk_head", bind="query-params", width=110)) - 1
        unscaled = st.toggle("Leave out ÷ √d", key="unscaled", bind="query-params")
        single = st.toggle("One head instead of many", key="single_head", bind="query-params")
    steps, head = computed(parts, head, unscaled, single)
    left, right = st.columns([2, 3])
    with left:
        st.caption(name_of_layer(parts))
        content = canvases.rows_for_browser(steps.weights[head], parts)
        show_map("walk_map", content, shown, picture, "over image", "Weights of")
    with right:
        vectors(parts, steps, position, head, single)
    row_by_row(parts, steps, position, head)
    values(parts, steps, position, head, exact=not (unscaled or single))
    reading.how(
        "From left to right: the query's product with every key, the same divided by √d, and what softmax makes of it. "
        "The weights mix the values of all keys into the output of this head; the heads are joined and projected.",
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + B\right) V, \quad "
        r"\mathrm{MHA} = [\mathrm{head}_1; \dots; \mathrm{head}_h]\,W_O",
        "anything after this layer. With a switch on, the numbers are an experiment, not the model's.",
        "Vaswani et al. 2017, eq. 1 and § 3.2.2",
    )


def computed(parts: Parts, head: int, unscaled: bool, single: bool) -> tuple[Steps, int]:
    """The model's own steps, or those of the experiment that is switched on; and which head of them to show."""
    if single:
        return single_head(parts.query, parts.key, parts.value, parts.bias), 0
    if unscaled:
        return steps_of(parts.query, parts.key, parts.value, 1.0, parts.bias), head
    return Steps(parts.scores, parts.scaled, parts.biased, parts.weights, parts.mixed), head


def vectors(parts: Parts, steps: Steps, position: int, head: int, single: bool) -> None:
    """The query, its strongest key, and their product."""
    row = steps.weights[head, position]
    best = int(row.argmax())
    names = [name_of(t, int(ids[i])) if int(ids[i]) >= 0 else "padding" for t, ids, i in (
        (parts.tokens, parts.query_ids, position), (parts.key_tokens, parts.key_ids, best))]  # fmt: skip
    if not single:
        query, key = parts.query[head, position], parts.key[head, best]
        st.markdown(f"**Query** of {names[0]}")
        st.image(strip(query.numpy(), height=20), alt="The query vector", width="stretch")
        st.caption(reading.listed(query.numpy()))
        st.markdown(f"**Key** with the largest weight: {names[1]}")
        st.image(strip(key.numpy(), height=20), alt="The key vector", width="stretch")
        st.caption(reading.listed(key.numpy()))
        product = pair(query, key, float(parts.scale[head]))
        st.markdown(
            f"q · k = **{product.dot:.3f}** · scaled **{product.scaled:.3f}** · cosine {product.cosine:.3f} · "
            f"norms {product.query_norm:.2f} and {product.key_norm:.2f}"
        )
    sharp = saturation(steps.weights)
    own = saturation(parts.weights)
    st.markdown(
        f"largest weight **{float(sharp.largest[head, position]):.3f}** · entropy "
        f"**{float(sharp.entropy[head, position]):.2f}** of 1 · mean over all rows {float(sharp.entropy.mean()):.2f} "
        f"(the model's own: {float(own.entropy.mean()):.2f})"
    )


def row_by_row(parts: Parts, steps: Steps, position: int, head: int) -> None:
    """Scores, scaled, with bias, weights: the same row four times, on the grid."""
    stages: list[tuple[str, Tensor, bool]] = [
        ("scores q · k", steps.scores, True),
        ("scaled", steps.scaled, True),
        ("with bias and mask", steps.biased, True),
        ("weights after softmax", steps.weights, False),
    ]  # fmt: skip
    if parts.bias is None:
        stages.pop(2)
    if parts.key_tokens.grid is None:
        return
    for column, (name, values, signed) in zip(st.columns(len(stages)), stages, strict=True):
        row = values[head, position]
        grid, rows, columns = _shown_part(on_grid(row, parts.key_ids, parts.key_tokens))
        figure = heat_map(
            grid, "column", "row", name, signed=signed, height=300, x_names=columns, y_names=rows,
            digits=2 if grid.shape[1] <= 8 and len(stages) < 4 else None,
        )  # fmt: skip
        with column:
            chart(figure, f"walk_{name}", f"{name}, as a grid of numbers")
    special = [
        f"[{name}] {float(steps.weights[head, position, i]):.3f}" for i, name in enumerate(parts.key_tokens.special)
    ]
    if special:
        st.caption("weights of special tokens: " + ", ".join(special))


def _shown_part(grid: Tensor) -> tuple[np.ndarray, list[str], list[str]]:
    """A window of a large grid is cut out, so that its cells can be seen; with its rows and columns counted from 1."""
    there = ~grid.isnan()
    rows, columns = (there.any(axis).nonzero().flatten().tolist() for axis in (1, 0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    names = [[str(n + 1) for n in range(*span)] for span in ((top, bottom), (left, right))]
    return grid[top:bottom, left:right].numpy(), names[0], names[1]


def values(parts: Parts, steps: Steps, position: int, head: int, *, exact: bool) -> None:
    """Weighted values, the head's output, all heads side by side, the projection."""
    row = steps.weights[head, position]
    top = row.topk(min(5, len(row)))
    value = parts.value[head] if exact or len(steps.weights) > 1 else None
    if value is not None:
        lines = [
            {
                "key": name_of(parts.key_tokens, int(parts.key_ids[i])) if int(parts.key_ids[i]) >= 0 else "padding",
                "weight": f"{weight:.4f}",
                "norm of its value": f"{float(value[i].norm()):.3f}",
                "weight × norm": f"{float(weight * value[i].norm()):.4f}",
            }
            for weight, i in zip(top.values.tolist(), top.indices.tolist(), strict=True)
        ]
        st.markdown("**The five keys with the largest weights**")
        st.table(lines)
    mixed = steps.mixed[head, position].numpy()
    st.markdown("**Weighted values, summed: the output of this head**")
    st.image(strip(mixed, height=20), alt="Output of the head", width="stretch")
    st.caption(reading.listed(mixed))
    if exact:
        for name, vector in (
            (f"All {parts.weights.shape[0]} heads concatenated", parts.concatenated[position].numpy()),
            ("Projected: the output of the layer", parts.projected[position].numpy()),
        ):
            st.markdown(f"**{name}**")
            st.image(strip(vector, height=20), alt=name, width="stretch")
            st.caption(f"{len(vector)} numbers: {reading.listed(vector)}")
