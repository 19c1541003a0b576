"""The view Slide: a kernel walks over the picture, and every number of the output is seen to be made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import streamlit as st
from jaxtyping import Float

from vizkit.analysis.convolution.kernels import KERNELS
from vizkit.analysis.convolution.sliding import Kind
from vizkit.analysis.convolution.walk import CHANNELS, Channel, Walk, walked
from vizkit.analysis.remarks import convolution
from vizkit.report.kinds import Slid
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.pages.convolution.slide_canvas import forget_typed, play, steps_of, typed
from vizkit.ui.session import cached, saved
from vizkit.ui.session.shown import keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.controls import more
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save
from vizkit.views.subject import Subject, no_model

POOLS: dict[str, Kind] = {"max pooling": "max", "average pooling": "mean"}
SIDES_PX = (24, 32, 48)
LARGEST = 7  # side of a kernel
Square = Float[np.ndarray, "channel f f2"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """What slides, by its side f: its weights (None: the largest pixel wins); and a model's own numbers for it."""

    name: str
    kind: Kind
    by_size: Mapping[int, Square | None]
    bias: float = 0.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()


def view(page: Page) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = what_slides(page)
        with more():
            side = st.segmented_control("Pixels a side", SIDES_PX, default=32, required=True, key="slide_side",
                                        bind="query-params")  # fmt: skip
            channel = st.segmented_control("Channel", list(CHANNELS), default="grey", required=True,
                                           key="slide_channel", bind="query-params",
                                           help="The filters of a model read all of them.")  # fmt: skip
    steps = steps_of(chosen.by_size, pool=chosen.kind != "convolution")
    kernels = dict(chosen.by_size)
    editable = chosen.name in KERNELS
    name, own = chosen.name, typed(steps.f) if editable else None
    if own is not None:
        name, kernels[steps.f] = f"{name}, edited", own[None]
    weights = kernels[steps.f]
    numbers = () if weights is None else tuple(tuple(map(tuple, plane)) for plane in weights.tolist())
    walk = Walk(name, chosen.kind, numbers, steps, int(side or 32), cast("Channel", channel or "grey"),
                chosen.bias, chosen.mean, chosen.std)  # fmt: skip
    made = walked(page.picture.rgb, walk)
    play("slide", walk, made, kernels, editable=editable, edited=own is not None)
    strongest = convolution.strongest(made.output, walk.kind)
    remark(strongest if walk.white is None else None, convolution.contrast(made.image, made.output))
    save("slide", {"": saved.item_of_picture(Slid(walk))}, Subject(no_model, page.picture.rgb))
    reading.how(
        "The orange window stands on the picture: each of its pixels is multiplied by the weight at the same place, "
        "and their sum is one number of the output. The same few weights are used everywhere; type another one.",
        r"S(i, j) = \sum_{m, n} I(i s - p + m d,\; j s - p + n d)\, K(m, n)",
        "how a kernel is learned: training changes these weights, and nothing else.",
        "LeCun et al. 1998; Dumoulin & Visin 2016",
    )


def what_slides(page: Page) -> Chosen:
    names = [*KERNELS, *POOLS, *page.chosen]
    keep_valid("slide_kernel", names)
    name = st.selectbox(
        "Kernel", names, key="slide_kernel", bind="query-params", width=230, on_change=forget_typed,
        format_func=lambda name: f"first layer of {title(name)}" if name in page.chosen else name,
    )  # fmt: skip
    if name in POOLS:
        mean = POOLS[name] == "mean"
        return Chosen(name, POOLS[name], {f: np.full((1, f, f), 1 / f**2) if mean else None for f in (2, 3, 4)})
    if name in KERNELS:
        return Chosen(name, "convolution", {f: KERNELS[name](f)[None] for f in (3, 5, 7)})
    return filter_of(name)


def filter_of(source: str) -> Chosen:
    """A filter of a model's first layer, chosen by its number."""
    from vizkit.models import ModelError
    from vizkit.models.probes.convolution.first_layer import first_layer

    try:
        loaded = cached.model(source)
        layer = first_layer(loaded)
    except ModelError as sentence:
        raise NotApplicable(str(sentence)) from None
    count, _, height, width = layer.weight.shape
    if height != width or height > LARGEST:
        raise NotApplicable(
            f"The filters of the first layer of {title(source)} are {height} × {width} pixels; up to {LARGEST} × "
            f"{LARGEST} can be followed here."
        )
    keep_valid("slide_filter", range(1, count + 1))
    number = int(st.number_input("Filter", 1, count, 1, key="slide_filter", bind="query-params", width=110))
    weights, given = layer.weight[number - 1].double().numpy(), loaded.preprocessing
    return Chosen(f"filter {number} of {title(source)}", "convolution", {height: weights},
                  float(layer.bias[number - 1]), tuple(given.mean), tuple(given.std))  # fmt: skip
