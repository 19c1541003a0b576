"""Curves of runs, and what their axes show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from vizkit.datasets import digits
from vizkit.datasets.builtin.insects import INSECTS
from vizkit.figure.charts import rule
from vizkit.figure.training.learning_curves import Curve, learning_curves
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.comparing import X_AXES, along, smoothed, steps_an_epoch
from vizkit.training.runs.folder import RunFolder
from vizkit.training.runs.measure import measure_of
from vizkit.ui.session.jobs import Point
from vizkit.ui.widgets.chart import chart
from vizkit.views.bundled import title

SERIES = {"train": "training", "val": "validation"}
HEIGHT = 340
SMOOTHING = (
    "Weight w of the exponential moving average s ← w s + (1 − w) v, divided by 1 − wᵗ as in TensorBoard. "
    "The raw line stays, faint."
)


@dataclass(frozen=True)
class Axes:
    """`x`: one of X_AXES; `smoothing`: 0 to below 1, 0 draws the values alone; `log`: of y."""

    x: str = "epoch"
    smoothing: float = 0.0
    log: bool = False


def choose_axes() -> Axes:
    """Two of them in the line of controls; `choose_log` is for what few change."""
    x = st.segmented_control("Along", X_AXES, default="epoch", required=True, key="curve_x", bind="query-params")
    smoothing = st.slider(
        "Smoothing", 0.0, 0.95, 0.0, 0.05, key="curve_smoothing", bind="query-params", width=200, help=SMOOTHING
    )
    return Axes(str(x or "epoch"), float(smoothing))


def choose_log(axes: Axes) -> Axes:
    log = st.toggle(
        "Logarithmic y axis",
        key="curve_log",
        bind="query-params",
        help="A tenth of the loss looks the same wherever it is gained.",
    )
    return replace(axes, log=bool(log))


def of_run(run: RunFolder, points: list[Point], axes: Axes, upto: int = 0, step: int = 0, below: Any = None) -> None:
    """Loss, accuracy (or what its task is judged by) and learning rate of one run; between two epochs its loss and rate
    so far. `upto`: the epoch from which on all is faint, 0 for none. `step`: where a rule stands, 0 for none. `below`:
    where the rate stands, beside the others where none is given."""
    metrics = run.metrics()
    at = along(metrics, axes.x, steps_of(run))
    if metrics and not at:
        st.caption(no_steps([run.name]))
    live = {"epoch": 1, "step": run.status.get("steps") or 0, "minutes": 0}[axes.x]
    ended = metrics[-1]["epoch"] if metrics else 0
    points = [point for point in points if point.epoch > ended]  # of one that has ended since, the line would run back
    mark = place_of(step, metrics, at, steps_of(run))
    left, middle, *right = st.columns(2 if below else 3)
    loss = by_epoch(metrics, "loss", at, axes, upto)
    rate = [(place, epoch["rate"]) for place, epoch in zip(at, metrics, strict=False)]
    if points and live:
        loss.append(line("this epoch so far", [(point.epoch * live, point.loss) for point in points]))
        rate += [(point.epoch * live, point.rate) for point in points]
    with left:
        draw(loss, "loss", "run_loss", axes, mark=mark)
    with middle:
        measure = measure_of(metrics)
        draw(
            by_epoch(metrics, measure.name, at, axes, upto),
            measure.title,
            "run_accuracy",
            axes,
            percent=measure.percent,
            mark=mark,
        )
    with below or right[0]:
        draw([line("learning rate", rate, upto=upto)] if rate else [], "learning rate", "run_rate", axes, mark=mark)


def place_of(
    step: int, metrics: Sequence[Mapping[str, Any]], at: Sequence[int | float], steps: int = 0
) -> float | None:
    """Where a step lies between the ends of epochs, which are `at` on an axis; `steps` an epoch where the run has not
    recorded them."""
    ends = along(metrics, "step", steps)
    return float(np.interp(step, [0, *ends], [0, *at])) if step and at and len(ends) == len(at) else None


def of_runs(runs: dict[str, RunFolder], places: dict[str, int], axes: Axes) -> None:
    """The validation curves of several runs in one picture each. `places`: of their colours."""
    left, right = st.columns(2)
    every = {name: run.metrics() for name, run in runs.items()}
    at = {name: along(every[name], axes.x, steps_of(run)) for name, run in runs.items()}
    if lost := [name for name in runs if not at[name]]:
        st.caption(no_steps(lost))
    measure = measure_of([line for lines in every.values() for line in lines])
    titles = {measure.name: measure.title, "loss": "loss"}
    for column, (what, called) in zip((left, right), titles.items(), strict=True):
        lines = [
            replace(
                line(title(name), [*zip(at[name], (epoch[f"val_{what}"] for epoch in of), strict=True)], axes),
                place=places[name],
            )
            for name, of in every.items()
            if at[name]
        ]
        with column:
            percent = what != "loss" and measure.percent
            draw(lines, f"validation {called}", f"compare_{what}", axes, percent=percent)


def no_steps(names: list[str]) -> str:
    return f":material/info: Of {', '.join(names)} no steps are recorded; choose epoch or minutes."


def steps_of(run: RunFolder) -> int:
    """Steps an epoch, from the recipe, of a run that has not recorded them; 0 where its number of pictures is
    unknown."""
    try:
        recipe = run.recipe
    except RecipeError:
        return 0
    kind = recipe.data.partition(":")[0]
    images = recipe.images or (INSECTS["train"] if kind == "insects" else 0)
    if recipe.data == "digits":
        images = min(len(digits.members("train")), recipe.images or 10**9)
    return steps_an_epoch(recipe, images)


def by_epoch(
    metrics: list[dict[str, Any]], what: str, at: Sequence[int | float], axes: Axes, upto: int = 0
) -> list[Curve]:
    return [
        line(name, [*zip(at, (epoch[f"{key}_{what}"] for epoch in metrics), strict=True)], axes, upto)
        for key, name in SERIES.items()
        if at and f"{key}_{what}" in metrics[0]
    ]


def line(
    name: str, points: Sequence[tuple[int | float, int | float]], axes: Axes | None = None, upto: int = 0
) -> Curve:
    values = [value for _, value in points]
    smooth = smoothed(values, axes.smoothing) if axes and axes.smoothing else values if upto else []
    return Curve(name, [place for place, _ in points], values, smooth=smooth[: upto or None])


def draw(
    lines: list[Curve], title: str, key: str, axes: Axes, *, percent: bool = False, mark: float | None = None
) -> None:
    heading = title[0].upper() + title[1:]
    st.markdown(f"**{heading}**")
    if not lines:
        st.caption("from the end of the first epoch on")
        return
    figure = learning_curves(lines, title, x=axes.x, percent=percent, log=axes.log, height=HEIGHT)
    if mark is not None:
        rule(figure, mark, "dot")
    names = ", ".join(curve.name for curve in lines)
    chart(figure, key, f"{heading} by {axes.x}: {names}")
