"""The view Statistics: every head measured, over one image or several."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from torch import Tensor

from vizkit.analysis.attention.statistics import Layer, spread
from vizkit.analysis.remarks import attention
from vizkit.figure.charts import dots_by_depth
from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.session import cached, linked_picture, saved
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.sidebar import inputs
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save


def view(page: Page) -> None:
    uploads, _ = inputs.read_uploads()
    choices = ["this image", *([f"your {len(uploads)} images"] if len(uploads) > 1 else []), "the samples"]
    linked_picture.say_missing("statistics_over", choices)
    keep_valid("statistics_over", choices)
    over = st.segmented_control(
        "Over", choices, default=choices[0], required=True, key="statistics_over", bind="query-params"
    )
    pictures = {"this image": [page.picture], "the samples": [inputs.sample(name) for name in inputs.samples()]}
    chosen = pictures.get(over or "this image", list(uploads.values()))
    counted: list[Counted] = []
    for column, shown in page.columns():
        with column:
            reading.guarded(count, column, shown, chosen, counted)
    for index, each in enumerate(counted):
        with each.column:
            charts(index, each, counted, len(chosen))
    reading.how(
        "A dot is a head. Distance: from a patch to what it attends to, on average and in pixels; trained ViTs mix "
        "local and global heads in the first layers, the last are global, and a Swin stays inside its window. "
        "Entropy: 0 is attention to one token, 1 equal attention to all. Neither large nor small is better.",
        r"\bar d_h = \tfrac1N \sum_i \sum_j w_{ij}\lVert p_i - p_j\rVert_2, \quad "
        r"H = -\tfrac1N\sum_i\sum_j A_{ij}\log A_{ij}",
        "what the model does with what it attends to.",
        "Dosovitskiy et al. 2020, fig. 7 right; weights to special tokens are taken out and rows renormalised",
    )


@dataclass(frozen=True)
class Counted:
    """One model in its column: mean and deviation over the pictures of every layer."""

    column: Any
    shown: Shown
    mean: tuple[Layer, ...]
    deviation: tuple[Layer, ...]


def count(column: Any, shown: Shown, pictures: list[Picture], into: list[Counted]) -> None:  # noqa: ANN401
    bar = st.progress(0.0, f"{len(pictures)} images") if len(pictures) > 1 else None
    counted: list[tuple[Layer, ...]] = []
    for done, picture in enumerate(pictures):
        counted.append(cached.statistics(shown.source, picture, shown.loaded))
        if bar:
            bar.progress((done + 1) / len(pictures), f"{done + 1} of {len(pictures)} images")
    if bar:
        bar.empty()
    into.append(Counted(column, shown, *spread(counted)))


Pick = Callable[[Layer], Tensor | None]


def of_special(name: str) -> Pick:
    return lambda layer: layer.special.get(name)


def charts(index: int, own: Counted, beside: list[Counted], images: int) -> None:
    """One chart for each statistic, with the axes of all models side by side."""
    whiskers = images > 1
    depth, figures = max(len(each.mean) for each in beside), []

    def dots(name: str, pick: Pick, label: str, top: float | None = None) -> None:
        values, off = ([pick(layer) for layer in layers] for layers in (own.mean, own.deviation))
        drawn, whisker = ([each.numpy() for each in of if each is not None] for of in (values, off))
        top = top or 1.05 * max(_largest(each, pick, whiskers) for each in beside)
        figure = dots_by_depth(drawn, label, name, spread=whisker if whiskers else None, top=top, depth=depth)
        figures.append(figure)
        chart(figure, f"statistics_{index}_{name}", f"{name} of every head by layer")

    dots("Mean attention distance", lambda layer: layer.distance_px, "pixels")
    remark(attention.extremes(own.mean))
    dots("Entropy", lambda layer: layer.entropy, "H / log N", 1.05)
    for special in own.mean[0].special:
        if all(special in layer.special for layer in own.mean):
            dots(f"Attention to [{special}]", of_special(special), "share")
    if any(float(layer.padding.max()) > 0 for layer in own.mean):
        dots("Attention to padding", lambda layer: layer.padding, "share")
    dots("Attention to itself", lambda layer: layer.itself, "share")
    remark(attention.most_alike(own.shown.trace))
    st.caption(f"{images} images, whiskers: standard deviation" if whiskers else "1 image")
    of = f"Mean of {images} images" if whiskers else f"Picture: {st.session_state.get('image', '')}"
    lines = (f"Model: {title(own.shown.source)}", of)
    save(f"statistics{index}", {"": saved.charts_of("Every head by layer", lines, *figures)}, saved.NOTHING)


def _largest(counted: Counted, pick: Pick, whiskers: bool) -> float:
    """The highest dot of a model, with its whisker; layers without the statistic and without places count as 0."""
    highest = 0.0
    for mean, deviation in zip(counted.mean, counted.deviation, strict=True):
        value, off = pick(mean), pick(deviation)
        if value is not None and off is not None:
            highest = max(highest, float((value + off if whiskers else value).nan_to_num(0.0).max()))
    return highest or 1.0
