"""Curves of runs. Altair, because Streamlit then changes a chart in place: plotly's is built anew at every epoch."""

from collections.abc import Iterable
from typing import Any

import streamlit as st

from vizkit.ui.session.jobs import Point

HEIGHT = 230
SERIES = {"train": "training", "val": "validation"}


def of_run(metrics: list[dict[str, Any]], points: list[Point]) -> None:
    """Loss, accuracy and learning rate of one run; between two epochs its loss and rate so far."""
    left, middle, right = st.columns(3)
    loss = list(by_epoch(metrics, "loss"))
    loss += [{"epoch": point.epoch, "value": point.loss, "of": "this epoch so far"} for point in points]
    rate = [{"epoch": line["epoch"], "value": line["rate"], "of": "learning rate"} for line in metrics]
    rate += [{"epoch": point.epoch, "value": point.rate, "of": "learning rate"} for point in points]
    with left:
        draw(loss, "loss", "of", "Loss of training and validation by epoch", "run_loss")
    with middle:
        draw(list(by_epoch(metrics, "accuracy")), "accuracy", "of", "Accuracy by epoch", "run_accuracy", percent=True)
    with right:
        draw(rate, "learning rate", None, "Learning rate by epoch", "run_rate")


def of_runs(metrics: dict[str, list[dict[str, Any]]]) -> None:
    """The validation curves of several runs in one picture each."""
    left, right = st.columns(2)
    for column, what in ((left, "accuracy"), (right, "loss")):
        rows = [
            {"epoch": line["epoch"], "value": line[f"val_{what}"], "of": name}
            for name, lines in metrics.items()
            for line in lines
        ]
        with column:
            draw(rows, f"validation {what}", "of", f"Validation {what} of {', '.join(metrics)} by epoch",
                 f"compare_{what}", percent=what == "accuracy", height=320)  # fmt: skip


def by_epoch(metrics: list[dict[str, Any]], what: str) -> Iterable[dict[str, Any]]:
    for line in metrics:
        for key, name in SERIES.items():
            yield {"epoch": line["epoch"], "value": line[f"{key}_{what}"], "of": name}


def draw(rows: list[dict[str, Any]], title: str, of: str | None, alt: str, key: str, *, percent: bool = False,
         height: int = HEIGHT) -> None:  # fmt: skip
    """One line for each `of`, told apart by colour and by the shape of its points; a first epoch is a point."""
    st.markdown(f"**{title.capitalize()}**")
    if not rows:
        st.caption("from the end of the first epoch on")
        return
    import altair as alt_chart
    import pandas as pd

    epoch = alt_chart.X("epoch:Q", title="epoch", axis=alt_chart.Axis(tickMinStep=1, format="d"))
    value = alt_chart.Y("value:Q", title=None, scale=alt_chart.Scale(zero=False),
                        axis=alt_chart.Axis(format="%" if percent else ".3~g"))  # fmt: skip
    tips = [alt_chart.Tooltip("epoch:Q", format=".3~g"),
            alt_chart.Tooltip("value:Q", title=title, format=".1%" if percent else ".4~g")]  # fmt: skip
    chart = alt_chart.Chart(pd.DataFrame(rows)).encode(x=epoch, y=value, tooltip=tips)
    lines, dots = chart.mark_line(), chart.mark_point(filled=True, size=36, opacity=1)
    if of:
        legend = alt_chart.Legend(orient="bottom", title=None, columns=1 if height > HEIGHT else 3, labelLimit=320)
        order = list(dict.fromkeys(row[of] for row in rows))
        colour = alt_chart.Color(f"{of}:N", sort=order, legend=legend)
        shape = alt_chart.Shape(f"{of}:N", sort=order, legend=legend)
        lines, dots = lines.encode(color=colour), dots.encode(color=colour, shape=shape)
    st.altair_chart((lines + dots).properties(height=height), width="stretch", key=key, alt=alt)
