"""A table of methods and their scores on the page: best first, chance last, with a sentence for every column."""

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from vizkit.analysis.trust import Score
    from vizkit.analysis.trust_table import Row, Summary

SHORT = {  # what fits above a column; the whole title is in its help
    "on_thing": "on insect",
    "on_deciding": "on parts",
    "randomisation": "random ρ",
}
ARROWS = {True: " ↑", False: " ↓", None: ""}


def show(scores: "Sequence[Sequence[Score]]", key: str) -> "list[Row]":
    """One list of scores for each image."""
    from vizkit.analysis.trust_table import FIGURES, table

    rows = table(scores)
    there = [name for name in FIGURES if any(name in row.figures for row in rows)]
    lines = [
        {"method": row.title, "rank": "" if row.rank is None else f"{row.rank:.1f}"}
        | {name: said(row.figures.get(name), name) for name in there}
        | ({"nothing": row.nothing or None} if any(row.nothing for row in rows) else {})
        for row in rows
    ]
    config = {
        "rank": st.column_config.TextColumn("rank", width=60, help="Mean place over the columns that "
                                              "have a better side; all of them weigh alike, which is a choice."),
        "method": st.column_config.TextColumn("method", pinned=True),
        "nothing": st.column_config.NumberColumn("no map", help="Images on which the method found nothing."),
    }  # fmt: skip
    for name in there:
        figure = FIGURES[name]
        label = SHORT.get(name, figure.title) + ARROWS[figure.larger_is_better]
        config[name] = st.column_config.TextColumn(label, help=f"{figure.title.capitalize()}. {figure.caveat}")
    st.dataframe(lines, key=key, hide_index=True, width="stretch", height=38 + 35 * len(lines), column_config=config)
    st.caption("↑ larger is better · ↓ smaller is better · point at a column's name for what it cannot tell")
    return rows


def said(found: "Summary | None", name: str) -> str:
    if found is None:
        return ""
    if found.images == 1:
        return ("hit" if found.mean else "miss") if name == "pointing" else f"{found.mean:.2f}".replace("-0.00", "0.00")
    return f"{found.mean:.2f} ± {found.spread:.2f}"


def as_csv(rows: "list[Row]") -> str:
    from vizkit.analysis.trust_table import FIGURES

    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(
        ["method", "rank", *(f"{name} {part}" for name in FIGURES for part in ("mean", "spread", "images"))]
    )
    for row in rows:
        summaries = [row.figures.get(name) for name in FIGURES]
        numbers = [n for s in summaries for n in (("", "", "") if s is None else (s.mean, s.spread, s.images))]
        writer.writerow([row.method, "" if row.rank is None else row.rank, *numbers])
    return out.getvalue()


def caveats(shown: "list[Row]") -> None:
    from vizkit.analysis.trust_table import FIGURES

    with st.expander("What each score tells, and what it does not", icon=":material/quiz:"):
        for name, figure in FIGURES.items():
            if any(name in row.figures for row in shown):
                st.markdown(f"**{figure.title}**{ARROWS[figure.larger_is_better]} {figure.caveat}")
