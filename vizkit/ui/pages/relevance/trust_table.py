"""A table of methods and their scores on the page: best first, chance last, with a sentence for every column."""

import csv
import io
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from vizkit.analysis.trust.scores import Score
from vizkit.analysis.trust.table import CHANCE, FIGURES, Row, Summary, Tally, signed
from vizkit.analysis.trust.verdict import MARGIN, beyond_chance, marks, verdict
from vizkit.ui.plain import plain

POINTING = ("pointing", "pointing_strict")  # of one image, hit or miss
SHORT = {  # what fits above a column; the whole title is in its help
    "pointing_strict": "exactly",
    "on_thing": "on insect",
    "on_deciding": "on parts",
    "randomisation": "random ρ",
}
COLOURS = {"best": "background-color: rgba(67, 147, 195, .38)", "fails": "background-color: rgba(214, 96, 77, .34)"}
ARROWS = {True: " ↑", False: " ↓", None: ""}


def show(scores: Sequence[Sequence[Score]], key: str) -> list[Row]:
    """One list of scores for each image. The rows, best first; as the methods come where nothing can be ranked."""
    tally = Tally()
    for several in scores:
        tally.add(several)
    rows, sentence = tally.rows(), tally.said()
    there = [name for name in FIGURES if any(name in row.figures for row in rows)]
    ranked = any(row.rank is not None for row in rows)
    beyond = {row.method: None if row.method == CHANCE else beyond_chance(row) for row in rows}
    lines = [
        {"method": row.title}
        | ({"rank": "" if row.rank is None else f"{row.rank:.1f}"} if ranked else {})
        | ({"beyond": "" if (gap := beyond[row.method]) is None else signed(gap)} if any(beyond.values()) else {})
        | {name: in_words(row.figures.get(name), name) for name in there}
        | ({"nothing": row.nothing or None} if any(row.nothing for row in rows) else {})
        for row in rows
    ]
    config = {
        "rank": st.column_config.TextColumn("rank", width=60, help="Mean place over the columns that "
                                              "have a better side; all have equal weight, which is a choice."),
        "method": st.column_config.TextColumn("method", pinned=True),
        "beyond": st.column_config.TextColumn("to chance", help="Mean difference to chance over deletion, insertion "
                                                "and ROAD, as far as they were measured; above 0 is better."),
        "nothing": st.column_config.NumberColumn("no map", help="Images on which the method gives no map."),
    }  # fmt: skip
    for name in there:
        figure = FIGURES[name]
        label = SHORT.get(name, figure.title) + ARROWS[figure.larger_is_better]
        config[name] = st.column_config.TextColumn(label, help=f"{figure.title.capitalize()}. {figure.caveat}")
    if sentence:
        st.warning(plain(sentence), icon=":material/balance:")
    elif judged := verdict(rows):
        st.markdown(f"**{plain(judged.said())}**")
    marked = {name: marks(rows, name) for name in there} if ranked else {}

    def coloured(column: "pd.Series") -> list[str]:
        chosen = marked.get(str(column.name), {})
        return [COLOURS.get(chosen.get(row.method, ""), "") for row in rows]

    table = pd.DataFrame(lines).style.apply(coloured)
    st.dataframe(table, key=key, hide_index=True, width="stretch", height=38 + 35 * len(lines), column_config=config)
    within = "two standard errors" if tally.images > 1 else f"{MARGIN}"
    chance = f":red-background[no better than chance: within {within}, or nearly unchanged by random weights] · "
    legend = f":blue-background[best of its column] · {chance}" if ranked else ""
    st.caption(
        f"{legend}↑ larger is better · ↓ smaller is better · in brackets the difference to chance, the last line"
    )
    return rows


def in_words(summary: Summary | None, name: str) -> str:
    """The figure, and in brackets its difference to chance; of one image whether it points right."""
    if summary is None:
        return ""
    gain = "" if summary.above_chance is None else f" ({signed(summary.above_chance)})"
    if summary.images > 1:
        return f"{summary.mean:.2f} ± {summary.spread:.2f}{gain}"
    if name in POINTING and summary.chance is not None:
        return "hit" if summary.mean else "miss"
    return f"{summary.mean:.2f}{gain}".replace("-0.00", "0.00")


def as_csv(rows: list[Row]) -> str:
    parts = ("mean", "spread", "images", "chance", "above_chance")
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["method", "rank", *(f"{name} {part}" for name in FIGURES for part in parts)])
    for row in rows:
        summaries = [row.figures.get(name) for name in FIGURES]
        numbers = [None if summary is None else getattr(summary, part) for summary in summaries for part in parts]
        writer.writerow([row.method, row.rank, *numbers])  # None is an empty cell
    return out.getvalue()


def caveats(shown: list[Row]) -> None:
    with st.expander("What each score tells, and what it does not", icon=":material/quiz:"):
        for name, figure in FIGURES.items():
            if any(name in row.figures for row in shown):
                st.markdown(f"**{figure.title}**{ARROWS[figure.larger_is_better]} {figure.caveat}")
