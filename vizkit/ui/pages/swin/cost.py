"""Global against window attention: multiply–adds, memory and time against the size of the image."""

import json
from functools import partial

import numpy as np
import streamlit as st
import torch

from vizkit.analysis.remarks import compute
from vizkit.analysis.swin.cost_curves import beside, exponent, sizes_px
from vizkit.figure.swin.power_laws import power_laws
from vizkit.image import Picture
from vizkit.models.probes.attention_timing import Layer, Timed, time_layer
from vizkit.models.probes.multiply_adds import PUBLISHED_G, multiply_adds
from vizkit.models.probes.swin_stages import Stage, hierarchy
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import background, cached, model_names
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark

WINDOWS = (4, 7, 8, 12, 16, 24)
MEASURED_PX = (224, 320, 448, 640, 768, 1024)
PATIENCE_S = 30.0  # a pass that would take longer is left out
LEAST_TOKENS = 6000  # below, the projections and fixed costs hide the growth
TASK = "attention_times"


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    stages = hierarchy(shown.loaded, shown.trace.image_size)
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
            st.select_slider("Window M", sides, own, key=f"cost_window_{own}", bind="query-params", width=220,
                             help="Tokens on a side.")
        )  # fmt: skip
    formula(stage, window)
    measured(stage, window)
    _whole_model(shown, picture, stages)
    reading.how(
        "The projections cost the same in both (first term). Global attention compares every token with every "
        "other, so twice the side of the image is sixteen times the work; with windows it is four times. The exponents "
        "are the slopes of the lines: 1 is linear in the number of tokens, 2 is quadratic.",
        r"\begin{aligned} \Omega(\mathrm{MSA}) &= 4hwC^2 + 2(hw)^2C \\ "
        r"\Omega(\mathrm{W\text{-}MSA}) &= 4hwC^2 + 2M^2hwC \end{aligned}",
        "MLPs, the roll and the mask, padding in the formula, or what another machine makes of it. Attention "
        "weights, which are no parameters, are stored only by code that writes them out; fused kernels, as in the "
        "measured layer, do not.",
        "Liu et al. 2021, eq. 1 and 2, table 1",
    )


# ---- by formula ------------------------------------------------------------------------------------------------------
def formula(stage: Stage, window: int) -> None:
    stride = round(stage.tokens.stride)
    sizes = sizes_px(stride)
    size = int(
        st.select_slider(
            "Image side in pixels", sizes, sizes[0], key=f"cost_side_{stride}", bind="query-params", width=320
        )
    )
    pairs = {side: beside(side, stride, stage.channels, stage.heads, window) for side in sizes}
    whole, cut = pairs[size]
    fewer, less = whole.attention / cut.attention, whole.weight_bytes / cut.weight_bytes
    with st.container(horizontal=True):
        metric("Tokens", f"{whole.tokens:,}", f"{cut.grid[0]} × {cut.grid[1]}")
        metric("Multiply–adds, global", short(whole.attention), "")
        metric("Multiply–adds, windows", short(cut.attention), f"{fewer:.1f} × less")
        metric("Attention weights, global", _mebi(whole.weight_bytes), "")
        metric("Attention weights, windows", _mebi(cut.weight_bytes), f"{less:,.1f} × less")
    words = f"global attention at {size} × {size} pixels"
    remark(compute.saved(cut.attention, whole.attention, "multiply–adds", words, f"Attention in windows of {window}"))
    tokens = [pairs[side][0].tokens for side in sizes]
    kinds = (
        ("attention", "Attention of one layer", "multiply–adds"),
        ("weight_bytes", "Attention weights of one layer", "bytes, float32"),
    )
    for index, (column, (kind, name, words)) in enumerate(zip(st.columns(2), kinds, strict=True)):
        values = [[float(getattr(pairs[side][way], kind)) for side in sizes] for way in (0, 1)]
        lines = {
            way: (np.array(sizes), np.array(costs), exponent(tokens, costs))
            for way, costs in zip(("global", f"windows of {window}"), values, strict=True)
        }
        figure = power_laws(lines, "image side (px)", words, name)
        with column:
            chart(figure, f"cost_formula_{index}", f"{name}: {words} against the side of the image")


def metric(name: str, value: str, below: str) -> None:
    st.metric(name, value, below or None, "off", border=True, delta_arrow="off", height="stretch")


def short(count: int) -> str:
    return f"{count / 1e9:,.2f} G" if count >= 1e9 else f"{count / 1e6:,.0f} M"


def _mebi(count: int) -> str:
    return f"{count / 2**30:,.1f} GiB" if count >= 2**30 else f"{count / 2**20:,.1f} MiB"


# ---- measured --------------------------------------------------------------------------------------------------------
def measured(stage: Stage, window: int) -> None:
    """Times of this machine when somebody has measured, else those that come with vizkit."""
    layer = Layer(round(stage.tokens.stride), stage.channels, stage.heads)
    st.markdown("**Measured: one layer, projections and attention, one image**")
    if not background.at_work(TASK):
        st.button(
            "Measure on this machine", icon=":material/timer:", key="cost_measure",
            on_click=begin, args=(layer, window),
            help=f"Up to {MEASURED_PX[-1]:,} pixels, as far as a pass takes less than {PATIENCE_S:.0f} seconds.",
        )  # fmt: skip
    background.show(TASK)
    here = [time for key in keys(layer, window) if (time := shelf().find(key)) is not None]
    if here:
        from vizkit.models.probes.attention_timing import machine

        draw(here, f"{layer.channels} channels, {layer.heads} heads, tokens of {layer.stride_px} pixels; {machine()}")
    else:
        draw(*shipped())


def begin(layer: Layer, window: int) -> None:
    background.start(TASK, partial(measure, layer, window))


def keys(layer: Layer, window: int) -> list[tuple]:
    return [("attention time", layer, size, side) for size in MEASURED_PX for side in (window, None)]


def measure(layer: Layer, window: int, task: background.Task) -> None:
    """Small images first; global attention stops where the next size would take too long."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    last: Timed | None = None
    todo = keys(layer, window)
    for done, key in enumerate(todo):
        _, _, size, side = key
        task.report(f"{'Global attention' if side is None else 'Windows'} at {size} × {size} …", done, len(todo))
        if side is None and last is not None and last.seconds * (size / last.size_px) ** 4 > PATIENCE_S:
            continue
        time = time_layer(layer, size, side, device)
        last = time if side is None else last
        shelf().put(key, time)
        task.results += 1


def shipped() -> tuple[list[Timed], str]:
    """What `python -m benchmarks windows` measured, and where."""
    record = json.loads((model_names.BUNDLED / "attention_times.json").read_text(encoding="utf-8"))
    layer = record["layer"]
    words = (
        f"{layer['channels']} channels, {layer['heads']} heads, tokens of {layer['stride_px']} pixels (the first stage "
        f"of Swin-T); {record['machine']}. Comes with vizkit, measured by `python -m benchmarks windows`"
    )
    return [Timed(**time) for time in record["times"]], words


def draw(times: list[Timed], words: str) -> None:
    lines = {}
    for side in sorted({time.window for time in times}, key=lambda side: side is not None):
        points = sorted((time for time in times if time.window == side), key=lambda time: time.tokens)
        large = [time for time in points if time.tokens >= LEAST_TOKENS] or points
        name = "global" if side is None else f"windows of {side}"
        whole = len(large) > 1 and not background.at_work(TASK)  # half measured, another exponent comes out
        fit = exponent([time.tokens for time in large], [time.seconds for time in large]) if whole else None
        lines[name] = (
            np.array([time.size_px for time in points]),
            np.array([1e3 * time.seconds for time in points]),
            fit,
        )
    figure = power_laws(lines, "image side (px)", "milliseconds", "Time, measured", dots=True)
    chart(figure, "cost_measured", "Measured time of one layer against the side of the image")
    st.caption(f"{words}. The exponent is fitted to images of {LEAST_TOKENS:,} tokens and more where there are any.")


# ---- the whole model -------------------------------------------------------------------------------------------------
def _whole_model(shown: Shown, picture: Picture, stages: tuple[Stage, ...]) -> None:
    counted = cached.made(shown.source, picture, shown.loaded, ("multiply-adds",), lambda: multiply_adds(shown.loaded))
    height, width = shown.loaded.preprocessing.size_hw
    st.markdown(f"**The whole model: {plain(title(shown.source))} at {width} × {height} pixels, counted**")
    published = PUBLISHED_G.get(shown.loaded.name)
    with st.container(horizontal=True):
        metric("Multiply–adds of one image", short(counted.total), f"published: {published} G" if published else "")
        metric("in attention layers", f"{sum(counted.attention) / counted.total:.0%}", "")
        metric("in QKᵀ and AV", f"{counted.products / counted.total:.1%}", "")
    shares = " · ".join(f"stage {n + 1}: {short(count)}" for n, count in enumerate(counted.attention))
    st.caption(f"Attention layers by stage: {shares}. The rest are MLPs, mergings, patches and head.")
