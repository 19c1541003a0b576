"""Global against window attention: multiply–adds, memory and time against the size of the image."""

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import background, cached, model_names
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart

if TYPE_CHECKING:
    from vizkit.models.probes.attention_timing import Layer, Timed
    from vizkit.models.probes.swin_stages import Stage

WINDOWS = (4, 7, 8, 12, 16, 24)
MEASURED_PX = (224, 320, 448, 640, 768, 1024)
PATIENCE_S = 30.0  # a pass that would take longer is left out
LEAST_TOKENS = 6000  # below, the projections and fixed costs hide the growth
TASK = "attention_times"


def view(page: Page) -> None:
    from vizkit.models.probes.swin_stages import hierarchy

    one, picture = page.one, page.picture
    stages = hierarchy(one.loaded, one.trace.image_size)
    numbers = [str(n + 1) for n in range(len(stages))]
    keep_valid("cost_stage", numbers)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.segmented_control(
            "Layer of stage", numbers, default="1", required=True, key="cost_stage", bind="query-params"
        )
        stage = stages[int(chosen or "1") - 1]
        own = max(stages[0].blocks[0].window)
        sides = sorted({*WINDOWS, own})
        window = int(
            st.select_slider("Window M", sides, own, key=f"cost_window_{own}", width=220, help="Tokens on a side.")
        )
    formula(stage, window)
    measured(stage, window)
    whole_model(one, picture, stages)
    reading.how(
        "Both ways pay the same for their projections (first term). Global attention compares every token with every "
        "other, so twice the side of the image is sixteen times the work; with windows it is four times. The exponents "
        "are the slopes of the lines: 1 is linear in the number of tokens, 2 is quadratic.",
        r"\begin{aligned} \Omega(\mathrm{MSA}) &= 4hwC^2 + 2(hw)^2C \\ "
        r"\Omega(\mathrm{W\text{-}MSA}) &= 4hwC^2 + 2M^2hwC \end{aligned}",
        "MLPs, the roll and the mask, padding in the formula, or what another machine makes of it. The weights are "
        "stored only by code that writes them out; fused kernels, as in the measured layer, do not.",
        "Liu et al. 2021, eq. 1 and 2, table 1",
    )


# ---- by formula ------------------------------------------------------------------------------------------------------
def formula(stage: "Stage", window: int) -> None:
    from vizkit.analysis.swin.cost_curves import beside, exponent, sizes_px
    from vizkit.figure.swin.power_laws import power_laws

    stride = round(stage.tokens.stride)
    sizes = sizes_px(stride)
    size = int(st.select_slider("Image side in pixels", sizes, sizes[0], key=f"cost_side_{stride}", width=320))
    pairs = {side: beside(side, stride, stage.channels, stage.heads, window) for side in sizes}
    whole, cut = pairs[size]
    fewer, less = whole.flops / cut.flops, whole.weight_bytes / cut.weight_bytes
    with st.container(horizontal=True):
        metric("Tokens", f"{whole.tokens:,}", f"{cut.grid[0]} × {cut.grid[1]}")
        metric("Multiply–adds, global", short(whole.flops), "")
        metric("Multiply–adds, windows", short(cut.flops), f"{fewer:.1f} × less")
        metric("Weights, global", mebi(whole.weight_bytes), "")
        metric("Weights, windows", mebi(cut.weight_bytes), f"{less:,.1f} × less")
    tokens = [pairs[side][0].tokens for side in sizes]
    for index, (column, kind, words) in enumerate(
        zip(st.columns(2), ("flops", "weight_bytes"), ("multiply–adds", "bytes of weights, float32"), strict=True)
    ):
        values = [[float(getattr(pairs[side][way], kind)) for side in sizes] for way in (0, 1)]
        lines = {
            name: (np.array(sizes), np.array(each), exponent(tokens, each))
            for name, each in zip(("global", f"windows of {window}"), values, strict=True)
        }
        figure = power_laws(lines, "image side (px)", words, f"One layer by formula: {words}")
        with column:
            chart(figure, f"cost_formula_{index}", f"{words} of one layer against the side of the image")


def metric(name: str, value: str, below: str) -> None:
    st.metric(name, value, below or None, "off", border=True, delta_arrow="off", height="stretch")


def short(count: int) -> str:
    return f"{count / 1e9:,.2f} G" if count >= 1e9 else f"{count / 1e6:,.0f} M"


def mebi(count: int) -> str:
    return f"{count / 2**30:,.1f} GiB" if count >= 2**30 else f"{count / 2**20:,.1f} MiB"


# ---- measured --------------------------------------------------------------------------------------------------------
def measured(stage: "Stage", window: int) -> None:
    """Times of this machine when somebody has measured, else those that come with vizkit."""
    from vizkit.models.probes.attention_timing import Layer

    layer = Layer(round(stage.tokens.stride), stage.channels, stage.heads)
    st.markdown("**Measured: one layer, projections and attention, one image**")
    if not background.at_work(TASK):
        st.button(
            "Measure on this machine", icon=":material/timer:", key="cost_measure",
            on_click=begin, args=(layer, window),
            help=f"Up to {MEASURED_PX[-1]:,} pixels, as far as a pass takes less than {PATIENCE_S:.0f} seconds.",
        )  # fmt: skip
    background.show(TASK)
    here = [found for each in keys(layer, window) if (found := shelf().find(each)) is not None]
    if here:
        from vizkit.models.probes.attention_timing import machine

        draw(here, f"{layer.channels} channels, {layer.heads} heads, tokens of {layer.stride_px} pixels; {machine()}")
    else:
        draw(*shipped())


def begin(layer: "Layer", window: int) -> None:
    background.start(TASK, partial(measure, layer, window))


def keys(layer: "Layer", window: int) -> list[tuple]:
    return [("attention time", layer, size, side) for size in MEASURED_PX for side in (window, None)]


def measure(layer: "Layer", window: int, task: background.Task) -> None:
    """Small images first; global attention stops where the next size would take too long."""
    import torch

    from vizkit.models.probes.attention_timing import time_layer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    last: Timed | None = None
    wanted = keys(layer, window)
    for done, key in enumerate(wanted):
        _, _, size, side = key
        task.report(f"{'Global attention' if side is None else 'Windows'} at {size} × {size} …", done, len(wanted))
        if side is None and last is not None and last.seconds * (size / last.size_px) ** 4 > PATIENCE_S:
            continue
        found = time_layer(layer, size, side, device)
        last = found if side is None else last
        shelf().put(key, found)
        task.results += 1


def shipped() -> "tuple[list[Timed], str]":
    """What `python -m benchmarks windows` measured, and where."""
    from vizkit.models.probes.attention_timing import Timed

    found = json.loads((model_names.BUNDLED / "attention_times.json").read_text(encoding="utf-8"))
    layer = found["layer"]
    words = (
        f"{layer['channels']} channels, {layer['heads']} heads, tokens of {layer['stride_px']} pixels (the first stage "
        f"of Swin-T); {found['machine']}. Comes with vizkit, measured by `python -m benchmarks windows`"
    )
    return [Timed(**each) for each in found["times"]], words


def draw(found: "list[Timed]", words: str) -> None:
    from vizkit.analysis.swin.cost_curves import exponent
    from vizkit.figure.swin.power_laws import power_laws

    lines = {}
    for side in sorted({each.window for each in found}, key=lambda side: side is not None):
        each = sorted((one for one in found if one.window == side), key=lambda one: one.tokens)
        large = [one for one in each if one.tokens >= LEAST_TOKENS] or each
        name = "global" if side is None else f"windows of {side}"
        fit = exponent([one.tokens for one in large], [one.seconds for one in large]) if len(large) > 1 else None
        lines[name] = (np.array([one.size_px for one in each]), np.array([1e3 * one.seconds for one in each]), fit)
    figure = power_laws(lines, "image side (px)", "milliseconds", "Time, measured", dots=True)
    chart(figure, "cost_measured", "Measured time of one layer against the side of the image")
    st.caption(f"{words}. The exponent is fitted to images of {LEAST_TOKENS:,} tokens and more where there are any.")


# ---- the whole model -------------------------------------------------------------------------------------------------
def whole_model(one: Shown, picture: Picture, stages: "tuple[Stage, ...]") -> None:
    from vizkit.models.probes.multiply_adds import PUBLISHED_G, multiply_adds

    found = cached.made(one.source, picture, one.loaded, ("multiply-adds",), lambda: multiply_adds(one.loaded))
    height, width = one.loaded.preprocessing.size_hw
    st.markdown(f"**The whole model: {plain(title(one.source))} at {width} × {height} pixels, counted**")
    published = PUBLISHED_G.get(one.loaded.name)
    with st.container(horizontal=True):
        metric("Multiply–adds of one image", short(found.total), f"published: {published} G" if published else "")
        metric("in attention layers", f"{sum(found.attention) / found.total:.0%}", "")
        metric("in QKᵀ and AV", f"{found.products / found.total:.1%}", "")
    shares = " · ".join(f"stage {n + 1}: {short(count)}" for n, count in enumerate(found.attention))
    st.caption(f"Attention layers by stage: {shares}. The rest are MLPs, mergings, patches and head.")
