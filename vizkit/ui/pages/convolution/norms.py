"""The view Norms: LayerNorm, BatchNorm and their relatives on the model's own tokens; which numbers share a mean."""

import numpy as np
import streamlit as st
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.convolution.norms import AXES, normed, together
from vizkit.analysis.remarks import convolution
from vizkit.analysis.remarks.remark import counted
from vizkit.figure.convolution.sharing import sharing
from vizkit.traces import NotApplicable
from vizkit.ui import export, reading
from vizkit.ui.session import cached, saved
from vizkit.ui.session.shown import CENTRE, Shown, keep_valid, title
from vizkit.ui.sidebar import inputs
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

MOST_IMAGES, TOKENS, CHANNELS = 4, 6, 24  # of which numbers are drawn
GROUPS = 16  # of GroupNorm, so that several are seen
LIMIT = 2.5  # standard deviations


def view(page: Page) -> None:
    shown = page.focus
    depth = len(shown.trace.features)
    if not depth:
        raise NotApplicable(f"{shown.name} gives no features that could be normalised.")
    keep_valid("norm_layer", range(1, depth + 1))
    with st.container(horizontal=True):
        layer = int(st.slider("Features after block", 1, max(2, depth), key="norm_layer", bind="query-params",
                              width=240, disabled=depth < 2))  # fmt: skip
        count = int(st.slider("Images in the batch", 1, MOST_IMAGES, 2, key="norm_images", bind="query-params",
                              width=200, help="Yours, then other samples."))  # fmt: skip
        channel = int(st.slider("Channel", 1, CHANNELS, 9, key="norm_channel", bind="query-params", width=240))
    x = batch(page, shown, min(layer, depth) - 1)
    at = (0, x.shape[1] // 2, min(channel, x.shape[2]) - 1)
    results = {name: normed(x[:count], name, GROUPS) for name in AXES}
    drawn, inside = excerpt(x[:count], at)
    spread = float(drawn.std()) or 1.0
    before, *others = [column for _ in range(2) for column in st.columns(3)][: len(AXES) + 1]
    with before:
        figures = [sharing(drawn, None, inside, "Before: the model’s numbers", limit=LIMIT * spread)]
        chart(figures[0], "norm_before", "The model's own numbers, tokens by channels")
        st.caption(
            f"`{shown.trace.features[min(layer, depth) - 1].name}` · the small frame holds {float(x[at]):.2f}".replace(
                "-", "−"
            )
        )
    for column, (name, result) in zip(others, results.items(), strict=True):
        with column:
            values, _ = excerpt(result.values, at)
            mask, _ = excerpt(together((count, x.shape[1], x.shape[2]), name, at, GROUPS), at)
            figures.append(sharing(values, mask.astype(bool), inside, name, limit=LIMIT))
            chart(figures[-1], f"norm_{name}",
                  f"The same after {name}, with a frame around what shares a mean")  # fmt: skip
            st.caption(words(name, float(x[at]), float(result.mean[at]), float(result.std[at]), result.count))
    remark(convolution.alone({name: (float(normed(x[:1], name, GROUPS).values[at]), float(result.values[at]))
                              for name, result in results.items()}, count))  # fmt: skip
    lines = (f"Model: {title(shown.source)}, {shown.trace.features[min(layer, depth) - 1].name}",
             f"Pictures: {st.session_state.get('image', '')} and {counted(count - 1, 'other')}")  # fmt: skip
    save("norms", {"": saved.charts_of("Which numbers share a mean", lines, *figures)}, saved.NOTHING,
         {"Numbers of all channels (NPZ)": lambda: export.npz_of(before=x[:count].numpy(), **{
             name: result.values.numpy() for name, result in results.items()})})  # fmt: skip
    reading.how(
        "A frame holds the numbers that share a mean and a standard deviation with the small one. Only BatchNorm’s "
        "frame reaches into other images: what it gives for yours depends on them, and a batch of one is a problem.",
        r"\hat h = \frac{h - \mu}{\sqrt{\sigma^2 + \epsilon}}, \quad y = \gamma \hat h + \beta",
        "the learned scale γ and shift β; in use BatchNorm takes means remembered from training. A ViT normalises "
        "before a layer, x + f(LN(x)); the first transformer did it after, LN(x + f(x)): see Vanishing gradients.",
        "Ioffe & Szegedy 2015; Ba et al. 2016; Wu & He 2018; Zhang & Sennrich 2019",
    )


def words(name: str, number: float, mean: float, std: float, count: int) -> str:
    top = f"{number:.2f}" if name == "RMSNorm" else f"({number:.2f} − {mean:.2f})".replace("− -", "+ ")
    return f"over {AXES[name]}: {count:,} numbers · {top} ÷ {std:.2f} = **{(number - mean) / std:.2f}**".replace(
        "-", "−"
    )


def batch(page: Page, shown: Shown, layer: int) -> Float[Tensor, "image token channel"]:
    """What leaves a block for the chosen picture and some samples, without special tokens."""
    others = [picture for name in inputs.samples() if (picture := inputs.sample(name)).digest != page.picture.digest]
    pictures = [page.picture, *others[: MOST_IMAGES - 1]]
    tensors = []
    for picture in pictures:
        trace = cached.trace(shown.source, shown.loaded, picture, CENTRE)
        features = trace.features[layer]
        tensors.append(features.values[len(features.tokens.special) :].float())
    return torch.stack(tensors)


def excerpt(x: Tensor, at: tuple[int, int, int]) -> tuple[np.ndarray, tuple[int, int, int]]:
    """A few tokens around the chosen one and the first channels, and where the chosen number is in them."""
    start = max(0, min(at[1] - TOKENS // 2, x.shape[1] - TOKENS))
    return x[:, start : start + TOKENS, :CHANNELS].numpy().astype(float), (at[0], at[1] - start, at[2])
