"""The view Statistics: every head measured, over one image or several."""

import streamlit as st

from vizkit.analysis.attention.statistics import Layer, spread
from vizkit.analysis.remarks import attention
from vizkit.figure.charts import dots_by_depth
from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.sidebar import inputs
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark


def view(page: Page) -> None:
    uploads, _ = inputs.read_uploads()
    choices = ["this image", *([f"your {len(uploads)} images"] if len(uploads) > 1 else []), "the samples"]
    keep_valid("statistics_over", choices)
    over = st.segmented_control("Over", choices, default=choices[0], required=True, key="statistics_over")
    pictures = {"this image": [page.picture], "the samples": [inputs.sample(name) for name in inputs.samples()]}
    chosen = pictures.get(over or "this image", list(uploads.values()))
    for index, (column, shown) in enumerate(page.columns()):
        with column:
            reading.guarded(statistics, index, shown, chosen)
    reading.how(
        "A dot is a head. Distance: from a patch to what it attends to, on average and in pixels; trained ViTs mix "
        "local and global heads in the first layers, the last are global, and a Swin stays inside its window. "
        "Entropy: 0 is attention to one token, 1 equal attention to all. Neither large nor small is better.",
        r"\bar d_h = \tfrac1N \sum_i \sum_j w_{ij}\lVert p_i - p_j\rVert_2, \quad "
        r"H = -\tfrac1N\sum_i\sum_j A_{ij}\log A_{ij}",
        "what the model does with what it attends to.",
        "Dosovitskiy et al. 2020, fig. 7 right; weights to special tokens are taken out and rows renormalised",
    )


def statistics(index: int, shown: Shown, pictures: list[Picture]) -> None:
    bar = st.progress(0.0, f"{len(pictures)} images") if len(pictures) > 1 else None
    counted: list[tuple[Layer, ...]] = []
    for done, picture in enumerate(pictures):
        counted.append(cached.statistics(shown.source, picture, shown.loaded))
        if bar:
            bar.progress((done + 1) / len(pictures), f"{done + 1} of {len(pictures)} images")
    if bar:
        bar.empty()
    mean, deviation = spread(counted)
    whiskers = len(pictures) > 1

    def dots(name: str, pick, label: str) -> None:  # noqa: ANN001
        values = [pick(layer).numpy() for layer in mean]
        off = [pick(layer).numpy() for layer in deviation] if whiskers else None
        figure = dots_by_depth(values, label, name, spread=off)
        chart(figure, f"statistics_{index}_{name}", f"{name} of every head by layer")

    dots("Mean attention distance", lambda layer: layer.distance_px, "pixels")
    remark(attention.extremes(mean))
    dots("Entropy", lambda layer: layer.entropy, "H / log N")
    for special in mean[0].special:
        if all(special in layer.special for layer in mean):
            dots(f"Attention to [{special}]", lambda layer, name=special: layer.special[name], "share")
    if any(float(layer.padding.max()) > 0 for layer in mean):
        dots("Attention to padding", lambda layer: layer.padding, "share")
    dots("Attention to itself", lambda layer: layer.itself, "share")
    remark(attention.most_alike(shown.trace))
    st.caption(f"{len(pictures)} images, whiskers: standard deviation" if whiskers else "1 image")
