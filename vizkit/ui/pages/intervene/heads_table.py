"""All heads of the atlas as a table, and what is left of the answers when more and more of them go."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from vizkit.analysis.attention.head_atlas import HeadAtlas, table
from vizkit.analysis.attention.pruning import band, still
from vizkit.analysis.remarks.interventions import of_pruning
from vizkit.figure.sequences.repeated import Repeated, repeated_lines
from vizkit.ui import export
from vizkit.ui.canvas import hear
from vizkit.ui.pages.intervene import heads_measured
from vizkit.ui.session import saved
from vizkit.ui.session.shown import Shown
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save
from vizkit.views.rules import below, record, several

ORDERS = {"measured": "least important first", "estimate": "by the gradient's estimate", "random": "at random"}
ANSWERS = {"own": "its own answers", "right": "right answers"}
ENOUGH = 0.9
PERCENT = re.compile(r"flipped|entropy|own|neighbours|row|column|border|class|registers")
HELP = {
    "half": "Half of the 95 % interval of what is lost.",
    "distance_px": "Mean distance from a patch to what it attends to, in pixels of the input.",
    "colour": "Weight on the quarter of patches nearest in colour, in multiples of chance.",
}


def all_heads(atlas: HeadAtlas, index: int, choose: Callable[[tuple[int, int]], None]) -> None:
    """Sorted by a click on a column's name; a row opens its head."""
    import pandas as pd

    columns = table(atlas)
    key = f"heads_table_{index}"

    def picked(told: dict[str, Any]) -> None:
        if told["rows"]:
            choose(atlas.names[told["rows"][0]])

    config = {}
    for name in columns:
        whole = name in ("layer", "head")
        form = "percent" if PERCENT.search(name) else "%d" if whole else "%.3f"
        config[name] = st.column_config.NumberColumn(format=form, pinned=whole, help=HELP.get(name.split(" ")[-1]))
    with st.expander("All heads as a table"):
        st.dataframe(
            pd.DataFrame(columns),
            key=key,
            hide_index=True,
            placeholder="–",
            column_config=config,
            height=420,
            on_select=partial(hear, key, "selection", record(rows=several(below(len(atlas.names)), 1)), picked),
            selection_mode="single-row",
            selection_default={"selection": {"rows": [index]}},
            alt="All heads with all that was measured",
        )


def pruning(shown: Shown, atlas: HeadAtlas, ablation: str) -> None:
    result = atlas.pruning.get(ablation)
    if result is None and ablation not in atlas.importance:
        return
    st.markdown("**How many heads can go**")
    heads_measured.measure_pruning(shown, atlas, ablation)
    if result is None:
        return
    kinds = [kind for kind in ANSWERS if getattr(result, kind)]
    kind = st.segmented_control("Share of", kinds, default="own", required=True, key="heads_answers",
                                bind="query-params", format_func=ANSWERS.__getitem__) or "own"  # fmt: skip
    curves = getattr(result, kind)
    figure = repeated_lines([Repeated(ORDERS[name], result.counts, curves[name]) for name in ORDERS],
                            "heads taken away", ANSWERS[kind])  # fmt: skip
    chart(figure, "heads_pruning", f"Share of {ANSWERS[kind]} against the number of heads taken away")
    can_go = {name: still(result.counts, band(result.own[name])[0], ENOUGH) for name in ORDERS}
    remark(of_pruning(result.heads, can_go, ENOUGH))
    st.caption(
        f"{result.images} pictures on which no order was measured; at random: three orders, thin, and their mean."
    )
    lines = (f"{shown.name}; {result.images} pictures of {atlas.data}",)
    columns = {"heads": [float(count) for count in result.counts]}
    for name in ORDERS:
        columns |= {f"{name} {at + 1}": list(curve) for at, curve in enumerate(curves[name])}
    with st.container(horizontal=True):
        save("heads_pruning", {"": saved.charts_of("Answers with fewer heads", lines, figure)}, saved.NOTHING,
             {"All curves (NPZ)": lambda: export.npz_of(**columns)})  # fmt: skip
        st.download_button("Curves (CSV)", lambda: export.csv_of(columns),
                           f"{export.name_of_file(shown.name)}_pruning.csv", "text/csv", key="heads_pruning_csv",
                           icon=":material/download:", on_click="ignore")  # fmt: skip
