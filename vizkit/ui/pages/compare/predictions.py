"""What every model answers about every image: bars, who agrees with whom, and where they disagree most."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from vizkit.analysis.comparison.disagreement import clusters
from vizkit.analysis.remarks.answers import agreement
from vizkit.figure.palette import OTHERS, class_colours
from vizkit.ui import reading
from vizkit.ui.pages.compare import images
from vizkit.ui.pages.compare.answers import BARS, LETTERS, Row, Table, answered, as_csv, letter
from vizkit.ui.pages.compare.grid import cell, grid, image_of
from vizkit.ui.pages.compare.images import Answer
from vizkit.ui.plain import plain
from vizkit.ui.views import Page
from vizkit.ui.widgets.known import chip, chips
from vizkit.ui.widgets.remark import remark

ORDERS = ("as chosen", "where they disagree first")


def view(page: Page) -> None:
    opened = images.models(page.sources)  # the sidebar's image is one of those that are compared
    if not opened:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        labels = [label for loaded in opened.values() for label in loaded.labels]
        with st.container(width="stretch"):
            pictures = images.pictures(labels)
        order = st.segmented_control(
            "Order", ORDERS, default=ORDERS[0], required=True, key="compare_order", bind="query-params"
        )
        only = st.toggle("Only where they differ", key="compare_differ", bind="query-params")
    table = answered(opened, pictures)
    rows = table.rows
    if order == ORDERS[1]:
        rows = sorted(rows, key=lambda row: (row.differ(table.comparable), row.apart or 0.0), reverse=True)
    if only:
        rows = [row for row in rows if row.differ(table.comparable)]
    if sentence := unmatched(table):
        st.caption(f":material/link_off: {plain(sentence)}")
    chips(dict(zip(table.titles, map(chip, opened.values()), strict=True)))
    for note in [note for loaded in opened.values() for note in loaded.notes]:
        st.caption(f":material/info: {plain(note)}")
    if rows:
        remark(agreement([_firsts(row, table) for row in table.rows]))
        colours = colours_of(table)
        grid("compare_grid", table.titles, [drawn(row, table, colours) for row in rows], str(st.session_state["image"]))
    else:
        st.info("All models that can be compared give the same first class for every image.", icon=":material/check:")
    pairs(table)
    save(table)
    reading.how(
        "A row is an image, a column a model: the part of the image that it saw and its likeliest classes. Answers "
        "with the same letter are the same class, also where the models' lists of classes differ; bars of one colour "
        "are one class, in all rows; classes that no two models name for an image have none.",
        r"\mathrm{JSD}(P, Q) = \tfrac12 \sum_c P_c \log_2 \tfrac{2P_c}{P_c + Q_c} + "
        r"\tfrac12 \sum_c Q_c \log_2 \tfrac{2Q_c}{P_c + Q_c}",
        "who is right, unless the label of the sample is known (✓), and why. The divergence counts only the classes "
        "that both models of a pair know by name, renormalised to sum to 1; pairs that give most of their probability "
        "to other classes have none. Names that only resemble each other are never taken for the same.",
        "Lin 1991, Divergence measures based on the Shannon entropy, IEEE Trans. Inf. Theory 37; 0 bits: the same "
        "probabilities, 1 bit: no class in common",
    )


def _firsts(row: Row, table: Table) -> dict[str, str]:
    """The first class of every model that can be compared with another one."""
    return {table.titles[place]: table.agreed.names[row.first[place]] for group in row.groups for place in group}


# ---- words -----------------------------------------------------------------------------------------------------------
def unmatched(table: Table) -> str:
    """Which models share class names with no other, which pairs share a part only, and whose classes do not exclude one
    another."""
    words, heads = [], [loaded.head for loaded in table.opened.values()]
    others = [
        f"{name} gives {head.gives}" for name, head in zip(table.titles, heads, strict=True) if not head.exclusive
    ]
    if others:
        words.append(f"Shown beside the others, not compared: {'; '.join(others)}.")
    separate = [cluster for cluster in clusters(len(heads), table.comparable) if heads[cluster[0]].exclusive]
    if len(separate) > 1:
        names = "; ".join(joined([table.titles[model] for model in cluster]) for cluster in separate)
        words.append(f"These have no classes in common by name and are shown beside each other, not compared: {names}.")
    for (first, second), (shared, _) in table.comparable.items():
        sizes = len(table.agreed.of[first]), len(table.agreed.of[second])
        if len(shared) < max(sizes):
            words.append(
                f"{table.titles[first]} and {table.titles[second]} have {len(shared)} classes in common by "
                f"name, of {sizes[0]:,} and {sizes[1]:,}; only these are compared."
            )
    return " ".join(words)


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def tops_of(row: Row, table: Table) -> dict[int, list[tuple[int, float]]]:
    """Of each model that answered its likeliest classes."""
    heads = [loaded.head for loaded in table.opened.values()]
    return {
        place: heads[place].top(answer.logits, BARS)
        for place, answer in enumerate(row.answers)
        if isinstance(answer, Answer)
    }


def colours_of(table: Table) -> dict[int, str]:
    """Of every class that several models name for one image: the same in all rows. As many as there are colours."""
    several = dict[int, None]()
    for row in table.rows:
        named = [table.agreed.of[place][index] for place, top in tops_of(row, table).items() for index, _ in top]
        several |= dict.fromkeys(label for label in named if named.count(label) > 1)
    colours = zip(several, class_colours([*several], len(table.agreed.names)), strict=True)
    return {label: colour for label, colour in colours if colour != OTHERS}


def drawn(row: Row, table: Table, colours: Mapping[int, str]) -> dict[str, Any]:
    models, tops = list(table.opened.values()), tops_of(row, table)
    truth = images.truth(row.name)
    cells = []
    for place, (answer, loaded) in enumerate(zip(row.answers, models, strict=True)):
        if isinstance(answer, str):
            cells.append({"refused": answer})
            continue
        bars = [
            {
                "name": loaded.label(index),
                "share": loaded.head.bar(value),
                "colour": colours.get(table.agreed.of[place][index]),
                "right": truth is not None and loaded.label(index) == truth,
            }
            for index, value in tops[place]
        ]
        cells.append(cell(answer.box_xyxy, row.picture, bars, letter(row, place), who(row, place, table)))
    return {**image_of(row.name, row.picture), "lines": lines(row, table), "cells": cells}


def who(row: Row, place: int, table: Table) -> str:
    group = next((group for group in row.groups if place in group), ())
    same = [table.titles[second] for second in group if second != place]
    return f"the same class as {joined(same)}" if same else "no other model predicts this"


def lines(row: Row, table: Table) -> list[str]:
    """Who agrees, and how far apart the models are."""
    if not row.groups:
        return []
    agreeing = [
        (joined([table.titles[i] for i in group]), table.agreed.names[row.first[group[0]]]) for group in row.groups
    ]
    if len(agreeing) == 1:
        count = len(row.groups[0])
        words = f"{'Both' if count == 2 else f'All {count}'} predict {agreeing[0][1]}."
    else:
        words = " · ".join(f"{LETTERS[i]} {names}: {what}" for i, (names, what) in enumerate(agreeing))
    apart = row.apart
    far = (
        ""
        if apart is None
        else f"{apart:.2f} bit of Jensen–Shannon divergence" + (", mean of the pairs" if len(row.bits) > 1 else "")
    )
    return [part for part in (words, far) if part]


def joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# ---- all images ------------------------------------------------------------------------------------------------------
def pairs(table: Table) -> None:
    """How often each pair agrees over the images, and how far it is apart."""
    entries = []
    for first, second in table.comparable:
        both = [row for row in table.rows if first in row.first and second in row.first]
        bits = [row.bits[first, second] for row in both if (first, second) in row.bits]
        same = sum(row.first[first] == row.first[second] for row in both)
        entries.append(
            (
                f"{table.titles[first]} – {table.titles[second]}",
                f"{same} of {len(both)}",
                sum(bits) / len(bits) if bits else None,
                len(table.comparable[first, second][0]),
            )
        )
    if len(table.rows) < 2 or not entries:
        return
    st.markdown("**Pairs of models over these images**")
    st.dataframe(
        pd.DataFrame(entries, columns=("pair", "same first class", "divergence, bits", "classes in common")),
        hide_index=True,
        height="content",
        placeholder="–",
        column_config={
            "divergence, bits": st.column_config.NumberColumn(format="%.3f"),
            "pair": st.column_config.TextColumn(width="large"),
        },
    )


def save(table: Table) -> None:
    with st.popover("Save", icon=":material/download:"):
        st.download_button(
            "All answers (CSV)",
            as_csv(table),
            "compare_predictions.csv",
            "text/csv",
            key="compare_csv",
            on_click="ignore",
        )
