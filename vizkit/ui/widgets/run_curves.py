"""Curves of runs."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from vizkit.figure.training.learning_curves import Curve, learning_curves
from vizkit.ui.session.jobs import Point
from vizkit.ui.widgets.chart import chart

SERIES = {"train": "training", "val": "validation"}


def of_run(metrics: list[dict[str, Any]], points: list[Point]) -> None:
    """Loss, accuracy and learning rate of one run; between two epochs its loss and rate so far."""
    left, middle, right = st.columns(3)
    loss = by_epoch(metrics, "loss")
    if points:
        loss.append(line("this epoch so far", [(point.epoch, point.loss) for point in points]))
    rate = [(epoch["epoch"], epoch["rate"]) for epoch in metrics] + [(point.epoch, point.rate) for point in points]
    with left:
        draw(loss, "loss", "run_loss")
    with middle:
        draw(by_epoch(metrics, "accuracy"), "accuracy", "run_accuracy", percent=True)
    with right:
        draw([line("learning rate", rate)] if rate else [], "learning rate", "run_rate")


def of_runs(metrics: dict[str, list[dict[str, Any]]]) -> None:
    """The validation curves of several runs in one picture each."""
    left, right = st.columns(2)
    for column, what in ((left, "accuracy"), (right, "loss")):
        lines = [line(name, [(epoch["epoch"], epoch[f"val_{what}"]) for epoch in of])
                 for name, of in metrics.items() if of]  # fmt: skip
        with column:
            draw(lines, f"validation {what}", f"compare_{what}", percent=what == "accuracy", height=380)


def by_epoch(metrics: list[dict[str, Any]], what: str) -> "list[Curve]":
    return [line(name, [(epoch["epoch"], epoch[f"{key}_{what}"]) for epoch in metrics])
            for key, name in SERIES.items() if metrics]  # fmt: skip


def line(name: str, points: Sequence[tuple[int | float, int | float]]) -> "Curve":
    return Curve(name, [epoch for epoch, _ in points], [value for _, value in points])


def draw(lines: "list[Curve]", title: str, key: str, *, percent: bool = False, height: int = 280) -> None:
    st.markdown(f"**{title.capitalize()}**")
    if not lines:
        st.caption("from the end of the first epoch on")
        return

    names = ", ".join(curve.name for curve in lines)
    chart(learning_curves(lines, title, percent=percent, height=height), key, f"{title.capitalize()} by epoch: {names}")
