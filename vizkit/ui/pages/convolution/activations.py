"""The view Activations: the curves with their derivatives, and what the model's own activations are given."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
import torch

from vizkit.analysis.convolution.activations import ACTIVATIONS, values_and_slopes
from vizkit.analysis.remarks import convolution
from vizkit.figure.charts import curves, heat_map, rule
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, saved
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models.probes.convolution.layers_seen import Activated
    from vizkit.report.item import Item

SHOWN = ["ReLU", "sigmoid", "GELU"]


def view(page: Page) -> None:
    names = st.pills("Activations", list(ACTIVATIONS), selection_mode="multi", default=SHOWN, key="activations",
                     bind="query-params", label_visibility="collapsed")  # fmt: skip
    x = torch.linspace(-6, 6, 481)
    both = {name: values_and_slopes(name, x) for name in names}
    figures = []
    for index, (column, y) in enumerate(zip(st.columns(2), ("f(x)", "f′(x)"), strict=True)):
        lines = {name: (x.numpy(), pair[index].numpy()) for name, pair in both.items()}
        with column:
            heading = ("Activation", "Its derivative: the gradient that it lets through")[index]
            figures.append(curves(lines, "x", y, heading))
            chart(figures[-1], f"activation_{index}", f"{heading} against x")
    items = {"Curves": saved.charts_of("Activations", (), *figures)}
    reading.guarded(given, page, items)
    save("activations", items, saved.NOTHING)
    reading.how(
        "An activation bends the sum of a layer; without one, all layers together would be one linear map. Going "
        "back, every layer multiplies the gradient by the derivative: at most ¼ for the sigmoid, 1 for tanh and ReLU. "
        "Below: the numbers that the model’s own activations are given for this image.",
        r"\mathrm{GELU}(x) = x\,\Phi(x), \quad \mathrm{SiLU}(x) = x\,\sigma(x), \quad \sigma' = \sigma (1 - \sigma)",
        "which one trains best: that depends on depth, weights and normalisation.",
        "Hendrycks & Gimpel 2016; Ramachandran et al. 2017",
    )


def given(page: Page, items: "dict[str, Item]") -> None:
    """The pre-activations of the model in focus, as a histogram for every layer; `items`: what can be saved."""
    shown = page.focus
    layers = activated(page, shown)
    if not layers:
        st.caption(f":material/info: {plain(shown.loaded.name)} calls no activation that is known here.")
        return
    keep_valid("activation_layer", range(1, len(layers) + 1))
    left, right = st.columns([3, 2])
    with right, st.container(width=320):
        layer = int(st.slider("Activation", 1, max(2, len(layers)), key="activation_layer", bind="query-params",
                              disabled=len(layers) < 2))  # fmt: skip
    chosen = layers[min(layer, len(layers)) - 1]
    edges, shares = histograms(layers)
    middles = (edges[1:] + edges[:-1]) / 2
    with left:
        layered = heat_map(shares * 100, "what the activation is given", "activation", "Pre-activations of every layer",
                          x_names=[f"{middle:.1f}" for middle in middles], square=False,
                          y_names=[str(number + 1) for number in range(len(layers))])  # fmt: skip
        layered.update_traces(colorbar_title_text="%", x=middles)
        rule(layered, 0.0, "dot")
        chart(layered, "activation_layers", "Share of the numbers in every bin, a row for each layer")
    with right:
        line = {f"{layer} {chosen.path}": (middles, shares[min(layer, len(layers)) - 1] * 100)}
        figure = curves(line, "what the activation is given", "% of the numbers", f"{chosen.name} {layer}",
                        marked={0.0: "dot"})  # fmt: skip
        figure.update_traces(fill="tozeroy", line_shape="hvh")
        chart(figure, "activation_chosen", "The histogram of the chosen activation")
        st.caption(f"`{chosen.path}` · mean {chosen.mean:.2f} · standard deviation {chosen.std:.2f}".replace("-", "−"))
    remark(convolution.negative([(each.name, each.negative) for each in layers]))
    lines = (f"Model: {title(shown.source)}", f"Picture: {st.session_state.get('image', '')}")
    items["Pre-activations"] = saved.charts_of("What activations are given", lines, layered, figure)


def activated(page: Page, shown: Shown) -> "list[Activated]":
    from vizkit.models import pixels_of
    from vizkit.models.probes.convolution.layers_seen import seen

    def make() -> "list[Activated]":
        with cached.device_lock():
            return seen(shown.loaded, pixels_of(shown.loaded, page.picture.rgb)).activated

    return cached.made(shown.source, page.picture, shown.loaded, ("activated",), make)


def histograms(layers: "list[Activated]") -> tuple[np.ndarray, np.ndarray]:
    """(edges of the bins, share of the numbers in each, (layer, bin)); what lies beyond is in the last ones."""
    from vizkit.models.probes.convolution.layers_seen import BINS, HIGH, LOW

    counts = torch.stack([layer.counts for layer in layers]).numpy()
    return np.linspace(LOW, HIGH, BINS + 1), counts / counts.sum(1, keepdims=True)
