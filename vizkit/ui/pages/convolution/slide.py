"""The view Slide: a kernel walks over the picture, and every number of the output is seen to be made."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from vizkit.analysis.convolution.kernels import KERNELS
from vizkit.analysis.convolution.sliding import Kind, Steps, output, reduced
from vizkit.analysis.remarks import convolution
from vizkit.image import RGB, Picture
from vizkit.traces import NotApplicable
from vizkit.ui import export, reading
from vizkit.ui.pages.convolution.slide_canvas import Walk, forget_typed, play, typed
from vizkit.ui.session import cached
from vizkit.ui.session.shown import keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.controls import more
from vizkit.ui.widgets.remark import remark

POOLS: dict[str, Kind] = {"max pooling": "max", "average pooling": "mean"}
CHANNELS = {"grey": None, "red": 0, "green": 1, "blue": 2}
SIDES_PX = (24, 32, 48)
LARGEST = 7  # side of a kernel
PICTURE_AGAIN = 0.5  # weights that sum to more than this give a picture, not differences


@dataclass(frozen=True, eq=False)
class Chosen:
    """What slides: its weights (None: the largest pixel wins), what it is called, and a model's own numbers for it."""

    name: str
    kind: Kind
    weights: Float[Tensor, "channel f f2"] | None
    f: int
    bias: float = 0.0
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] = ()

    @property
    def editable(self) -> bool:
        return self.kind == "convolution" and self.mean is None


def view(page: Page) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = what_slides(page)
        steps = how_it_steps(chosen)
        with more():
            side = st.segmented_control("Pixels a side", SIDES_PX, default=32, required=True, key="slide_side",
                                        bind="query-params")  # fmt: skip
            channel = st.segmented_control("Channel", list(CHANNELS), default="grey", required=True,
                                           key="slide_channel", bind="query-params",
                                           help="The filters of a model read all of them.")  # fmt: skip
    walk = walk_of(page.picture, chosen, steps, int(side or 32), channel or "grey")
    edited = chosen.editable and typed(steps.f) is not None
    play("slide", walk, edited=edited)
    strongest = convolution.strongest(walk.output, chosen.kind)
    remark(strongest if walk.white is None else None, convolution.contrast(walk.image, walk.output))
    st.download_button("Numbers (NPZ)", lambda: numbers(walk), f"{export.name_of_file(chosen.name)}.npz",
                       "application/zip", key="slide_npz", icon=":material/download:", on_click="ignore",
                       help="The pixels, the kernel and the output.")  # fmt: skip
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
        f = int(st.segmented_control("Size f", (2, 3, 4), default=2, required=True, key="pool_size",
                                     bind="query-params") or 2)  # fmt: skip
        mean = torch.full((1, f, f), 1 / f**2) if POOLS[name] == "mean" else None
        return Chosen(name, POOLS[name], mean, f)
    if name in KERNELS:
        f = int(st.segmented_control("Size f", (3, 5, 7), default=3, required=True, key="slide_size",
                                     bind="query-params", on_change=forget_typed) or 3)  # fmt: skip
        kernel = typed(f)
        return Chosen(name, "convolution", torch.from_numpy(KERNELS[name](f) if kernel is None else kernel)[None], f)
    return filter_of(name)


def filter_of(source: str) -> Chosen:
    """A filter of a model's first layer, chosen by its number."""
    from vizkit.models import ModelError
    from vizkit.models.probes.first_layer import first_layer

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
    weights, given = layer.weight[number - 1].double(), loaded.preprocessing
    return Chosen(f"filter {number} of {title(source)}", "convolution", weights, height, float(layer.bias[number - 1]),
                  given.mean, given.std)  # fmt: skip


def how_it_steps(chosen: Chosen) -> Steps:
    pool = chosen.kind != "convolution"
    kind = "pool" if pool else "slide"
    most = chosen.f // 2 if pool else 3  # as in PyTorch
    keep_valid(f"{kind}_padding", range(most + 1))
    stride = st.slider("Stride s", 1, 4, 2 if pool else 1, key=f"{kind}_stride", bind="query-params", width=130)
    padding = st.slider("Padding p", 0, most, 0, key=f"{kind}_padding", bind="query-params", width=130)
    dilation = st.slider("Dilation d", 1, 3, 1, key="slide_dilation", bind="query-params", width=130)
    return Steps(chosen.f, int(stride), int(padding), int(dilation))


def walk_of(picture: Picture, chosen: Chosen, steps: Steps, side_px: int, channel: str) -> Walk:
    """The walk with PyTorch's own output beside it, computed in double precision."""
    rgb = reduced(picture.rgb, side_px)
    if chosen.mean is not None:
        channels = _grey(rgb)[..., None] if len(chosen.mean) == 1 else rgb
        values = (channels / 255 - np.array(chosen.mean)) / np.array(chosen.std)
        shades = rgb if len(chosen.mean) == 3 else _stacked(_grey(rgb))
    else:
        index = CHANNELS[channel]
        plane = _grey(rgb) if index is None else rgb[..., index]
        values, shades = plane[..., None], _stacked(plane)
    image = torch.from_numpy(np.ascontiguousarray(values.transpose(2, 0, 1), dtype=np.float64))
    kernel = torch.zeros(1, steps.f, steps.f) if chosen.weights is None else chosen.weights
    result = output(image, kernel.double(), steps, chosen.kind, chosen.bias)
    total = 1.0 if chosen.weights is None else float(kernel.sum())
    white = 255 * max(1.0, total) if chosen.mean is None and total > PICTURE_AGAIN else None
    return Walk(image, shades, chosen.weights, chosen.bias, steps, chosen.kind, result, white,
                0 if chosen.mean is None else 3, chosen.editable, chosen.name)  # fmt: skip


def _grey(rgb: RGB) -> np.ndarray:
    return np.asarray(Image.fromarray(rgb).convert("L"))


def _stacked(plane: np.ndarray) -> RGB:
    return np.ascontiguousarray(np.stack([plane] * 3, -1))


def numbers(walk: Walk) -> bytes:
    kernel = {} if walk.kernel is None else {"kernel": walk.kernel.numpy()}
    return export.npz_of(input=walk.image.numpy(), **kernel, bias=walk.bias, output=walk.output.numpy())
