"""The view Switches: patches hidden, erased, exchanged, pasted, heads switched off, and the answer before and after."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attribution.subject import cells_of
from vizkit.analysis.comparison.pixel_edits import FILLS, Kind, PixelError
from vizkit.analysis.remarks.interventions import of_answers
from vizkit.figure.charts import heat_map
from vizkit.interventions import Changes
from vizkit.models import EditError, family
from vizkit.models.recording.edits import Edit
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.pages.intervene.all_models import all_models
from vizkit.ui.pages.intervene.before_after import maps
from vizkit.ui.pages.intervene.chosen_edits import (
    Hidden,
    can_undo,
    change,
    changed_trace,
    changes_of,
    edited_image,
    edits_from,
    hidden_of,
    paint,
    painted,
    undo,
)
from vizkit.ui.pages.intervene.switches_canvas import TOOLS, Brush, Switched, switches
from vizkit.ui.session import saved
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.sidebar.inputs import read_uploads, samples
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.traces import Trace

CLASSES = 5
TEMPERATURES = [0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0]
Row = tuple[str, float, float, float]


def view(page: Page) -> None:
    shown = page.focus
    learned = layers(shown.trace)
    heads = [layer.heads for layer in learned]
    first = learned[0].key if learned else None
    whole = first is not None and first.grid is not None and family(shown.loaded.model).SAME_ROWS
    grid = first.grid if whole and first and first.grid else cells_of(shown.trace)
    special = len(first.special) if first else 0
    changes = changes_of(heads)
    hidden = hidden_of(changes.model, heads, special)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        tool, kind, other = brushes(whole)
        if heads:
            temperature(changes, hidden, heads, special)
        st.button("Undo", icon=":material/undo:", key="edits_undo", on_click=undo, disabled=not can_undo())
        st.button("Reset", key="edits_reset", on_click=change, args=((),), disabled=not changes)

    def switched(now: Switched) -> None:
        pixels = changes.pixels
        if now.tool == tool != "Hide":
            pixels = paint(pixels, kind, grid, other, now.painted)
        seen_by = replace(hidden, cells=now.cells if whole else hidden.cells, off=now.off)
        change((*pixels, *edits_from(seen_by, heads, special)))

    try:
        after = changed_trace(shown, page.picture, changes) if changes else shown.trace
        image = edited_image(shown, page.picture, changes)
    except (EditError, PixelError) as sentence:
        raise NotApplicable(str(sentence)) from None
    rows = answers(shown, after)
    going_on = () if tool in ("Hide", "Exchange") else painted(changes.pixels, kind, grid, other)
    switches("switches", shown, Brush(tool, grid, going_on, image), heads, hidden, switched, rows, bool(changes))
    if shown.loaded.classifies:
        remark(of_answers([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows],
                          len(changes.texts)))  # fmt: skip
    reading.proof(after)
    keep(shown, changes, rows)
    maps(page, shown, after, image, changes)
    all_models(page, shown, changes, special, grid)
    reading.how(
        "Before and after are the same picture in the same model. A head that is off adds nothing to its layer; a "
        "hidden patch is seen by no token in any layer (a head that averages the patches still counts it); an erased, "
        "exchanged or pasted patch is seen, with other pixels. At a higher temperature a layer looks at everything "
        "more alike.",
        r"\mathrm{softmax}\left(\frac{Q K^\top}{T \sqrt{d_k}} + M\right) V, \quad M_{ij} = -\infty \text{ if } j "
        r"\text{ is hidden}",
        "what a head is for: others may do its work, or its absence may be something that the model never met; nor "
        "did it ever meet an image with a grey patch.",
        "Michel et al. 2019; Voita et al. 2019; Zeiler & Fergus 2014",
    )


def brushes(whole: bool) -> tuple[str, Kind, str]:
    """The tool, the kind of change that it makes, and the picture from which it pastes. `whole`: patches can be hidden,
    because all layers see the same ones."""
    tools = TOOLS if whole else TOOLS[1:]
    keep_valid("brush", tools)
    tool = st.segmented_control(
        "Brush", tools, default=tools[0], required=True, key="brush", bind="query-params",
        help="Hide: the tokens are seen by no other; where layers see other patches each, only the image changes.",
    ) or tools[0]  # fmt: skip
    if tool == "Erase":
        keep_valid("brush_fill", FILLS)
        fill = st.selectbox("With", FILLS, key="brush_fill", bind="query-params", width=150,
                            format_func=FILL_WORDS.__getitem__)  # fmt: skip
        return tool, fill or FILLS[0], ""
    if tool == "Paste":
        names = [name for name in (*read_uploads()[0], *samples()) if name != st.session_state.get("image")]
        keep_valid("brush_from", names)
        return tool, "paste", st.selectbox("From", names, key="brush_from", bind="query-params", width=190) or names[0]
    return tool, "swap", ""


FILL_WORDS = {"erase": "mean colour", "grey": "grey", "blur": "blur"}


def temperature(changes: Changes, hidden: Hidden, heads: Sequence[int], special: int) -> None:
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
        change((*changes.pixels, *edits_from(replace(hidden, rest=(*others, *added)), heads, special)))

    key = f"edits_temperature_{layer}_{value:g}"
    st.select_slider("Its temperature T", TEMPERATURES, value=min(TEMPERATURES, key=lambda t: abs(t - value)), key=key,
                     on_change=heated, width=200)  # fmt: skip


def answers(shown: Shown, after: "Trace") -> list[Row]:
    """The strongest answers by name, before and after, and by how much their logits differ."""
    loaded, before = shown.loaded, shown.trace.logits
    indices = dict.fromkeys(index for each in (before, after.logits) for index, _ in loaded.head.top(each, CLASSES))
    first, then = (loaded.head.values(each) for each in (before, after.logits))
    moved = after.logits - before
    return [(loaded.label(at), float(first[at]), float(then[at]), float(moved[at]))
            for at in [*indices][: CLASSES + 2]]  # fmt: skip


def keep(shown: Shown, changes: Changes, rows: Sequence[Row]) -> None:
    table = np.array([row[1:3] for row in rows])
    figure = heat_map(table, "", "", x_names=["before", "after"], y_names=[row[0] for row in rows], digits=3,
                      square=False)  # fmt: skip
    what = (f"{shown.name}; {', '.join(changes.texts) or 'nothing changed'}",)
    save("intervene", {"": saved.charts_of("Answers before and after", what, figure)}, saved.NOTHING)
