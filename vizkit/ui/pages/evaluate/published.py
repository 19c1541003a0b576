"""The view Published: tables of papers to sort and filter, and accuracy against cost beside models of one's own."""

from typing import Any

import streamlit as st

from vizkit.analysis.comparison.published import Row, families, matching
from vizkit.figure.evaluation.accuracy_cost import Point, accuracy_cost
from vizkit.ui import reading
from vizkit.ui.pages.evaluate import published_yours as yours
from vizkit.ui.pages.evaluate.published_columns import MULTIPLY_ADDS, TABLES, Column, Shown
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart


def view(page: Page) -> None:
    name = st.segmented_control(
        "Table",
        list(TABLES),
        default="ImageNet-1K",
        required=True,
        key="published",
        bind="query-params",
        label_visibility="collapsed",
    )
    shown = TABLES[name or "ImageNet-1K"]
    st.markdown(f"**{shown.table.title}**")
    rows = filtered(shown)
    if shown.axes("cost"):
        plots(shown, rows, page.chosen)
    table(rows, shown.columns)
    st.caption(f"{shown.table.measured} Source: {shown.table.citation}.")
    how(shown)


# ---- the table -------------------------------------------------------------------------------------------------------
def filtered(shown: Shown) -> list[Row]:
    """The rows that the words and families allow; a click on a header sorts them in the browser."""
    known = families(shown.rows)
    if any(family not in known for family in st.session_state.get("published_family") or []):
        st.session_state["published_family"] = [
            family for family in st.session_state["published_family"] if family in known
        ]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            "Filter",
            key="published_words",
            bind="query-params",
            width=240,
            placeholder=f"{known[-1].lower()} …",
            help="Rows that hold all of these words or numbers.",
        )
        of = st.pills("Family", known, selection_mode="multi", key="published_family", bind="query-params")
    rows = matching(shown.rows, words or "", tuple(of or ()))
    if not rows:
        st.info("No row holds all of these words; take some away.", icon=":material/filter_alt_off:")
    elif len(rows) < len(shown.rows):
        st.caption(f"{len(rows)} of {len(shown.rows)} rows.")
    return rows


def table(rows: list[Row], columns: tuple[Column, ...]) -> None:
    if not rows:
        return
    import pandas as pd

    values = {column.title: [_in_unit(row, column) for row in rows] for column in columns}
    st.dataframe(
        pd.DataFrame(values),
        hide_index=True,
        height="content",
        placeholder="–",
        column_config={column.title: config(column) for column in columns},
    )


def config(column: Column) -> Any:
    pinned = True if column.field == "name" else None
    if column.digits is None:
        return st.column_config.TextColumn(help=column.help, pinned=pinned)
    return st.column_config.NumberColumn(format=f"%.{column.digits}f", help=column.help)


def _in_unit(row: Row, column: Column) -> Any:
    value = getattr(row, column.field)
    return value if column.digits is None or value is None else value / column.unit


# ---- the plot --------------------------------------------------------------------------------------------------------
def plots(shown: Shown, rows: list[Row], sources: list[str]) -> None:
    """Papers' models left; one's own right, on axes of their own: they answer other pictures."""
    costs, accuracies = shown.axes("cost"), shown.axes("accuracy")
    for key, names in (("published_cost", costs), ("published_accuracy", accuracies)):
        keep_valid(key, names)
    default = next(name for name in (MULTIPLY_ADDS.title, *costs) if name in costs)
    beside = shown is TABLES["ImageNet-1K"]  # the only table of what models of one's own do: name what is on a picture
    with st.container(horizontal=True, vertical_alignment="bottom"):
        cost = costs[
            str(
                st.selectbox(
                    "Cost",
                    list(costs),
                    index=list(costs).index(default),
                    key="published_cost",
                    bind="query-params",
                    width=200,
                )
            )
        ]
        accuracy = next(iter(accuracies.values()))
        if len(accuracies) > 1:
            name = st.selectbox("Accuracy", list(accuracies), key="published_accuracy", bind="query-params", width=200)
            accuracy = accuracies[str(name)]
        own = yours.choose(sources) if beside else None
    if not beside:
        plot(shown, rows, cost, accuracy)
        return
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Published**, on ImageNet-1K")
        plot(shown, rows, cost, accuracy)
    with right:
        yours.panel(own, cost)
    st.caption(
        ":material/warning: Two panels, because two sets of pictures: 90 % of the drawn insects says nothing "
        "about ImageNet, whose 1,000 classes are photographs. Compare costs across the panels, accuracies only "
        "within one."
    )


def plot(shown: Shown, rows: list[Row], cost: Column, accuracy: Column) -> None:
    drawn = [row for row in rows if getattr(row, accuracy.field) is not None]
    if not drawn:
        st.caption("No row to draw.")
        return
    points = [point(row, shown, cost, accuracy) for row in drawn]
    numbers = ", ".join(f"{point.name} {point.accuracy:g}" for point in points)
    chart(
        accuracy_cost(points, cost.title, accuracy.title),
        "published_chart",
        f"{accuracy.title} against {cost.title}: {numbers}",
    )


def point(row: Row, shown: Shown, cost: Column, accuracy: Column) -> Any:
    """Rows of one name differ by their detail; those that differ in size alone are joined."""
    detail = str(getattr(row, shown.detail)) if shown.detail else ""
    twin = sum(other.name == row.name for other in shown.rows) > 1
    name = f"{row.name} {detail}".removesuffix("px") if twin else row.name
    sized = shown.detail == "side_px"
    return Point(
        name,
        row.family,
        _in_unit(row, cost),
        getattr(row, accuracy.field),
        line=f"{row.family} {detail}" if sized else "",
        note=f"{detail} px" if sized else detail,
    )


def how(shown: Shown) -> None:
    plot = (
        " In the plot up is better and left is cheaper (for images/s, right is): a model with another one above it "
        "and to its cheaper side costs more and achieves less."
    )
    if shown.detail == "side_px":
        plot += " Lines join the sizes of a family at one input."
    reading.how(
        "Click a header to sort, type words or choose families to filter; hover a header for what it means."
        + (plot if shown.axes("cost") else ""),
        shown.formula,
        shown.table.does_not_show,
        shown.table.citation,
    )
