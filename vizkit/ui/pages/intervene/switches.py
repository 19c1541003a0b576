"""The view Switches: patches hidden, heads switched off, a layer made hotter, and the answer before and after."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.remarks.interventions import of_answers
from vizkit.figure.charts import heat_map
from vizkit.models import EditError, family
from vizkit.models.recording.edits import Edit
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.pages.intervene.chosen_edits import (
    Hidden,
    can_undo,
    change,
    changed_trace,
    edits_from,
    edits_of,
    hidden_of,
    undo,
)
from vizkit.ui.pages.intervene.switches_canvas import switches
from vizkit.ui.session import saved
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.canvases import layer_for_browser
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.traces import Trace

CLASSES = 5
WHOLE = "Heads and patches are switched in models whose layers all see the same patches; here only heads are."


def view(page: Page) -> None:
    shown = page.focus
    learned = layers(shown.trace)
    if not learned:
        raise NotApplicable(f"{shown.trace.no_attention}: nothing can be switched.")
    heads, first = [layer.heads for layer in learned], learned[0].key
    special = len(first.special)
    edits = edits_of(heads)
    hidden = hidden_of(edits, heads, special)
    same = family(shown.loaded.model).SAME_ROWS and first.grid is not None

    def switched(now: Hidden) -> None:
        change(edits_from(now, heads, special))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        temperature(hidden, heads, special)
        st.button("Undo", icon=":material/undo:", key="edits_undo", on_click=undo, disabled=not can_undo())
        st.button("Reset", key="edits_reset", on_click=change, args=((),), disabled=not edits)
    try:
        after = changed_trace(shown, page.picture, edits) if edits else shown.trace
    except EditError as sentence:
        raise NotApplicable(str(sentence)) from None
    rows = answers(shown, after)
    reason = "" if same else WHOLE
    switches("switches", shown, page.picture, first.grid or (1, 1), heads, hidden, switched, reason, rows, bool(edits))
    if shown.loaded.classifies:
        remark(of_answers(*columns_of(rows), len(edits)))
    reading.proof(after)
    keep(shown, edits, rows)
    maps(page, shown, after)
    reading.how(
        "Left and right are the same picture in the same model. A head that is off adds nothing to its layer; a "
        "hidden patch is seen by no token in any layer (a head that averages the patches still counts it); at a higher "
        "temperature a layer looks at everything more alike.",
        r"\mathrm{softmax}\left(\frac{Q K^\top}{T \sqrt{d_k}} + M\right) V, \quad M_{ij} = -\infty \text{ if } j "
        r"\text{ is hidden}",
        "what a head is for: others may do its work, or its absence may be something that the model never met.",
        "Michel et al. 2019; Voita et al. 2019",
    )


def temperature(hidden: Hidden, heads: Sequence[int], special: int) -> None:
    """A layer and its temperature; 1 is the model itself."""
    options = list(range(1, len(heads) + 1))
    keep_valid("heated", options)
    layer = st.selectbox("Layer", options, key="heated", bind="query-params", width=90)
    known = {edit.layer: edit.value for edit in hidden.rest if edit.kind == "temperature" and edit.head is None}
    value = known.get(layer - 1, 1.0)

    def heated() -> None:
        others = tuple(edit for edit in hidden.rest if edit.kind != "temperature" or edit.layer != layer - 1)
        chosen = float(st.session_state[key])
        added = () if chosen == 1.0 else (Edit("temperature", layer - 1, None, chosen),)
        change(edits_from(replace(hidden, rest=(*others, *added)), heads, special))

    key = f"edits_temperature_{layer}_{value:g}"
    st.select_slider("Its temperature T", TEMPERATURES, value=min(TEMPERATURES, key=lambda t: abs(t - value)), key=key,
                     on_change=heated, width=240)  # fmt: skip


TEMPERATURES = [0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0]


def answers(shown: Shown, after: "Trace") -> list[tuple[str, float, float]]:
    """The strongest answers by name, before and after."""
    loaded, before = shown.loaded, shown.trace.logits
    indices = dict.fromkeys(index for each in (before, after.logits) for index, _ in loaded.head.top(each, CLASSES))
    first, then = (loaded.head.values(each) for each in (before, after.logits))
    return [(loaded.label(at), float(first[at]), float(then[at])) for at in [*indices][: CLASSES + 2]]


def columns_of(rows: Sequence[tuple[str, float, float]]) -> tuple[list[str], list[float], list[float]]:
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def keep(shown: Shown, edits: Sequence[Edit], rows: Sequence[tuple[str, float, float]]) -> None:
    names, *columns = columns_of(rows)
    figure = heat_map(np.array(columns).T, "", "", x_names=["before", "after"], y_names=names, digits=3, square=False)
    what = (f"{shown.name}; {', '.join(map(str, edits)) or 'nothing changed'}",)
    save("intervene", {"": saved.charts_of("Answers before and after", what, figure)}, saved.NOTHING)


def maps(page: Page, shown: Shown, after: "Trace") -> None:
    """The mean over heads of one layer, before and after, under the one cursor."""
    count = len(layers(after))
    keep_valid("layer", range(1, count + 1))
    layer = st.slider("Layer shown", 1, count, count, key="layer", bind="query-params") if count > 1 else 1
    for column, trace, words in zip(st.columns(2), (shown.trace, after), ("Before", "After"), strict=True):
        with column:
            st.markdown(f"**{words}**")
            rows = layer_for_browser(layers(trace)[layer - 1], None, shown.query, shared=True)
            show_map(f"intervene_{words}", rows, replace(shown, trace=trace), page.picture, "over image",
                     f"Attention {words.lower()} in")  # fmt: skip
