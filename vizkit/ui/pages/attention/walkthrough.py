"""One query in one head, followed step by step with the numbers that the model computed."""

import streamlit as st

from vizkit.analysis.attention.attention_map import find_query, layers
from vizkit.analysis.attention.walkthrough import largest_difference, layer_output, saturation, steps
from vizkit.figure.saved.panel import cells_of
from vizkit.geometry import name_of
from vizkit.image import Picture
from vizkit.models.probes.parts import Parts
from vizkit.traces import NotApplicable, Trace, tolerance
from vizkit.ui import reading
from vizkit.ui.pages.attention.walk_canvas import Head, head_of, play, row_for_browser
from vizkit.ui.session import cached, saved
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import of_layer, remark
from vizkit.ui.widgets.save import save
from vizkit.views.explore import Explore


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    with st.container(horizontal=True, vertical_alignment="bottom"):
        parts, layer, position = chosen_parts(shown, picture)
        heads = parts.weights.shape[0]
        keep_valid("walk_head", range(1, heads + 1))
        index = int(st.number_input("Head", 1, heads, 1, key="walk_head", bind="query-params", width=110)) - 1
        with st.popover("Experiments", icon=":material/science:"):
            unscaled = st.toggle("Leave out ÷ √d", key="unscaled", bind="query-params")
            single = st.toggle("One head instead of many", key="single_head", bind="query-params")
    head = head_of(parts, index, "single" if single else "unscaled" if unscaled else "")
    content = row_for_browser(parts, head, position)
    label = f"The walk of {content['query_name']} through layer {layer + 1} of {shown.name}"
    play("walk", content, layer, shown, picture, label)
    remark(of_layer(shown, layers(shown.trace)[layer], layer + 1, index))
    st.caption(f"{name_of_layer(parts)} · {sharpness(parts, head, position)}")
    if not shown.trace.check.failure:  # that one stands above, in red
        st.caption(proof(shown.trace, parts, head, position))
    save_row(shown, picture, parts, head, position, layer)
    reading.how(
        "White is the query, orange the key whose numbers are shown; a click on the photograph or on the row of scores "
        "chooses another key. Play, or go step by step with the arrow keys.",
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + B\right) V, \quad "
        r"\mathrm{MHA} = [\mathrm{head}_1; \dots; \mathrm{head}_h]\,W_O",
        "anything after this layer. With a switch on, the numbers are an experiment, not the model's.",
        "Vaswani et al. 2017, eq. 1 and § 3.2.2",
    )


def save_row(shown: Shown, picture: Picture, parts: Parts, head: Head, position: int, layer: int) -> None:
    """The map of this head, unless an experiment stands in its place, and the numbers of the query's row."""
    bias = None if head.bias is None else head.bias[None, position : position + 1]
    row = steps(head.query[None, position : position + 1], head.key[None], head.value[None], head.scale, bias)
    panels = [cells_of(values[0].numpy(), title=name, x="key, in the order of the tokens")
              for name, values in (("Scores q·k", row.scores), ("What the softmax gets", row.biased),
                                   ("Weights after softmax", row.weights))]  # fmt: skip
    query = name_of(parts.tokens, int(parts.query_ids[position]))
    which = {"": f"head {head.index + 1}", "unscaled": f"head {head.index + 1} without ÷ √d: an experiment",
             "single": "all heads as one: an experiment"}[head.experiment]  # fmt: skip
    line = f"{title(shown.source)}, layer {layer + 1}, {which}, query: {query}"
    items = {"Scores and weights of the row": saved.charts_of("One query in one head", (line,), *panels)}
    if not head.experiment:
        asked = shown.query if isinstance(shown.query, str) else "patch"
        own = Explore(layer=layer + 1, head=head.index + 1, query=asked)
        items = {"Attention of this head": saved.item_of(shown, own)} | items
    save("walk", items, saved.inputs_of(shown, picture))


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


def sharpness(parts: Parts, head: Head, position: int) -> str:
    """How sharp this row is, beside all rows of the head and of the model's own heads."""
    rows, own = saturation(head.weights[None]), saturation(parts.weights)
    return (
        f"largest weight {float(rows.largest[0, position]):.1%} · entropy {float(rows.entropy[0, position]):.2f} of 1 "
        f"(mean of this head {float(rows.entropy.mean()):.2f}, of the model's own {float(own.entropy.mean()):.2f})"
    )


def proof(trace: Trace, parts: Parts, head: Head, position: int) -> str:
    """What the canvas is sent, computed once more, against the trace's row and the layer's own output."""
    if head.experiment:
        return ":orange[:material/science: An experiment: these are not the model's numbers.]"
    weights, output = differences(trace, parts, head.index, position)
    words = f"Computed from these numbers, the weights are those of the trace to within {weights:.0e}"
    words += "" if output is None else f" and the layer's output its own to within {output:.0e} of its largest number"
    holds = max(weights, output or 0.0) <= tolerance(parts.weights.dtype)
    return f":green[:material/verified: {words}.]" if holds else f":red[:material/error: {words}.]"


def differences(trace: Trace, parts: Parts, head: int, position: int) -> tuple[float, float | None]:
    """(of this head's weights from the trace's, of the layer's rebuilt output from its own, as a share of its largest
    number; None where the layer changes the heads' outputs before it projects them)."""
    row = slice(position, position + 1)
    bias = None if parts.bias is None else parts.bias[:, row]
    again = steps(parts.query[:, row], parts.key, parts.value, parts.scale, bias)
    recorded = next(layer for layer in layers(trace) if layer.name == parts.name)
    group, place = (recorded.query_ids == parts.query_ids[position]).nonzero()[0].tolist()
    traced = recorded.weights[group, head, place].float().cpu()
    own = parts.projected[row]
    rebuilt = layer_output(again.mixed, parts.out_weight, parts.out_bias) if parts.plain else None
    off = None if rebuilt is None else largest_difference(rebuilt, own) / (float(own.abs().max()) or 1.0)
    return largest_difference(again.weights[head, 0], traced), off
