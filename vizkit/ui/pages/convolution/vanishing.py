"""The view Vanishing gradients: what is left of the gradient at the first of many layers, measured as switches turn."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.analysis.convolution.activations import ACTIVATIONS
from vizkit.analysis.convolution.vanishing import Kind, Network, NormName, gradient_norms, last_by_depth
from vizkit.analysis.remarks import convolution
from vizkit.figure.charts import curves
from vizkit.ui import reading
from vizkit.ui.session import saved
from vizkit.ui.session.remembered import remembered
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.report.item import Item

SHOWN = ["sigmoid", "tanh", "ReLU"]
DEPTHS = (4, 8, 12, 20, 32, 50)
PLACES = ("pre-norm", "post-norm")
LEAST_POWERS = (-3, 1)  # of ten, that the axis shows
KINDS: tuple[Kind, ...] = ("MLP", "CNN")
NORMS: tuple[NormName, ...] = ("none", "LayerNorm", "BatchNorm")


def view(page: Page) -> None:
    del page  # the networks are made here
    with st.container(horizontal=True, vertical_alignment="bottom"):
        network = chosen()
    names = st.pills("Activations", list(ACTIVATIONS), selection_mode="multi", default=SHOWN, key="vanishing_of",
                     bind="query-params", label_visibility="collapsed")  # fmt: skip
    norms = {name: measured(replace(network, activation=name)) for name in names}
    layers = np.arange(1, network.depth + 1)
    lines = {name: (layers, each) for name, each in norms.items()}
    figure = curves(lines, "layer, 1 is next to the input", "norm of the gradient", mode="lines+markers")
    low, high = (10.0**end for end in LEAST_POWERS)  # what hardly changes has to look so
    low = min([low, *(float(each.min()) for each in norms.values())])
    high = max([high, *(float(each.max()) for each in norms.values())])
    powers = [float(np.log10(low)) - 0.3, float(np.log10(high)) + 0.3]
    figure.update_yaxes(type="log", exponentformat="power", range=powers, dtick=max(1, round(np.ptp(powers) / 6)))
    chart(figure, "vanishing", "Norm of the gradient of every layer's weights, for each activation")
    remark(convolution.vanished(norms))
    settings = f"{network.kind}, {network.depth} layers"
    settings += ", residual" if network.residual else ""
    settings += f", {PLACES[not network.pre]} with {network.norm}" if network.norm != "none" else ""
    items = {"By layer": saved.charts_of("Gradient of every layer", (f"{settings}; random weights",), figure)}
    deeper(replace(network, activation="ReLU" if "ReLU" in names or not names else names[0]), items)
    save("vanishing", items, saved.NOTHING)
    reading.how(
        "A line that falls to the left loses its gradient on the way back: the first layers hardly learn. A "
        "residual connection or a norm brings it back; norms without residuals let it grow instead. Below, with "
        "residuals and LayerNorm: with post-norm the last layers’ gradient stays large however deep the network is, so "
        "it needs a learning rate that warms up; pre-norm, as in ViT, does not.",
        r"\frac{\partial L}{\partial x_l} = \frac{\partial L}{\partial x_n} \prod_{k=l+1}^{n} "
        r"\frac{\partial x_k}{\partial x_{k-1}}, \quad x + f(x):\ \frac{\partial x_k}{\partial x_{k-1}} = 1 + f'",
        "the course of a training: these are random weights before the first step, the same for every setting.",
        "Glorot & Bengio 2010; He et al. 2015; Yang et al. 2019; Xiong et al. 2020",
    )


def deeper(network: Network, items: "dict[str, Item]") -> None:
    """Pre-norm against post-norm, which differ by the depth of the network more than by the layer. `items`: what can be
    saved."""
    network = replace(network, residual=True, norm="LayerNorm", depth=DEPTHS[0])
    pre, post = (by_depth(replace(network, pre=place)) for place in (True, False))
    lines = {"pre-norm": pre, "post-norm": post, "1/√L": pre[0] * (DEPTHS[0] / np.array(DEPTHS)) ** 0.5}
    figure = curves({name: (np.array(DEPTHS), values) for name, values in lines.items()}, "layers of the network, L",
                    "gradient of the last layer",
                    f"Pre- and post-norm: {network.kind}, {network.activation}, residuals",
                    mode="lines+markers")  # fmt: skip
    figure.update_traces(line_dash="dot", mode="lines", selector={"name": "1/√L"})
    figure.update_yaxes(range=[0, 1.1 * max(pre.max(), post.max())])
    chart(figure, "vanishing_by_depth", "Norm of the gradient of the last layer by the depth of the network")
    remark(convolution.deeper(DEPTHS, pre, post))
    lines_above = (f"{network.kind}, {network.activation}, residuals and LayerNorm; random weights",)
    items["By depth"] = saved.charts_of("Gradient of the last layer by depth", lines_above, figure)


def chosen() -> Network:
    kind = st.segmented_control("Network", KINDS, default=KINDS[0], required=True, key="vanishing_kind",
                                bind="query-params")  # fmt: skip
    depth = int(st.slider("Layers", 2, 50, 20, key="vanishing_depth", bind="query-params", width=200))
    norm = st.segmented_control("Norm", NORMS, default=NORMS[0], required=True,
                                key="vanishing_norm", bind="query-params")  # fmt: skip
    place = st.segmented_control(
        "Its place", PLACES, default=PLACES[0], required=True, key="vanishing_place", bind="query-params",
        disabled=norm == "none", help="x + f(norm(x)) as in ViT, or norm(x + f(x)) as in the first transformer. "
        "Without residuals layers and norms alternate in both, so the lines hardly differ.",
    )  # fmt: skip
    residual = st.toggle("Residual x + f(x)", key="vanishing_residual", bind="query-params")
    return Network(KINDS[KINDS.index(kind)], depth, "ReLU", residual, NORMS[NORMS.index(norm)], place == PLACES[0])


@remembered
def by_depth(network: Network) -> np.ndarray:
    return last_by_depth(network, DEPTHS).numpy()


@remembered
def measured(network: Network) -> np.ndarray:
    return gradient_norms(network).numpy()
