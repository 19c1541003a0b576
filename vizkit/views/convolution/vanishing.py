"""Vanishing gradients: what is left of the gradient at the first of many layers, measured as switches turn."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Literal

import numpy as np

from vizkit.analysis.convolution.activations import ACTIVATIONS
from vizkit.analysis.convolution.vanishing import Kind, Network, NormName, gradient_norms, last_by_depth
from vizkit.analysis.remarks import convolution
from vizkit.figure.charts import curves
from vizkit.views.blocks import Blocks, Chart, Numbers, Said, first_said
from vizkit.views.controls import choice, number, several, switch
from vizkit.views.convolution.activations import coloured
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

DEPTHS = (4, 8, 12, 20, 32, 50)
PLACES = ("pre-norm", "post-norm")
LEAST_POWERS = (-3, 1)  # of ten, that the axis shows
Norms = Mapping[str, np.ndarray]


class Vanishing(View):
    """What is left of the gradient at the first of many layers."""

    kind: Literal["MLP", "CNN"] = choice(
        "Network", ("MLP", "CNN"), "Of equal layers, with random weights.", key="vanishing_kind"
    )
    depth: int = number("Layers", 2, 50, 20, "How deep the network is.", key="vanishing_depth")
    norm: Literal["none", "LayerNorm", "BatchNorm"] = choice(
        "Norm", ("none", "LayerNorm", "BatchNorm"), "What normalises every layer.", key="vanishing_norm"
    )
    place: Literal["pre-norm", "post-norm"] = choice(
        "Its place",
        PLACES,
        "x + f(norm(x)) as in ViT, or norm(x + f(x)) as in the first transformer. Without residuals layers and norms "
        "alternate in both, so the lines hardly differ.",
        key="vanishing_place",
        when=lambda view: view.norm != "none",
    )
    residual: bool = switch("Residual x + f(x)", "What a layer is given is added again.", key="vanishing_residual")
    activations: tuple[str, ...] = several(
        "Activations",
        tuple(ACTIVATIONS),
        "A line for each.",
        default=("sigmoid", "tanh", "ReLU"),
        key="vanishing_of",
    )

    overlays = False
    how = How(
        "A line that falls to the left loses its gradient on the way back: the first layers hardly learn. A "
        "residual connection or a norm brings it back; norms without residuals let it grow instead. Below, with "
        "residuals and LayerNorm: with post-norm the last layers’ gradient stays large however deep the network is, so "
        "it needs a learning rate that warms up; pre-norm, as in ViT, does not.",
        r"\frac{\partial L}{\partial x_l} = \frac{\partial L}{\partial x_n} \prod_{k=l+1}^{n} "
        r"\frac{\partial x_k}{\partial x_{k-1}}, \quad x + f(x):\ \frac{\partial x_k}{\partial x_{k-1}} = 1 + f'",
        "the course of a training: these are random weights before the first step, the same for every setting.",
        "Glorot & Bengio 2010; He et al. 2015; Yang et al. 2019; Xiong et al. 2020",
    )

    def title(self, of: Subject) -> str:
        words = [f"{self.kind} of {self.depth} layers", *(["residuals"] if self.residual else [])]
        words += [f"{self.place} with {self.norm}"] if self.norm != "none" else []
        return f"Gradient of every layer: {', '.join(words)}, random weights"

    def show(self, of: Subject) -> Blocks:
        settings = self.kind, self.depth, self.residual, self.norm, self.place == PLACES[0]
        norms = {name: measured(name, *settings) for name in self.activations}
        yield Said(first_said(convolution.vanished(norms)))
        yield by_layer(norms, self.depth)
        first = "ReLU" if "ReLU" in norms or not norms else next(iter(norms))
        pre, post = (by_depth(self.kind, first, pre) for pre in (True, False))
        yield Said(first_said(convolution.deeper(DEPTHS, pre, post)))
        title = f"Pre- and post-norm: {self.kind}, {first}, residuals"
        yield against_depth(title, pre, post)
        kept = np.array([norms.get(name, np.full(self.depth, 0.0)) for name in ACTIVATIONS])
        arrays = {"activations": np.array(list(norms)), "by_layer": kept, "pre_norm": pre, "post_norm": post}
        yield Numbers(partial(dict, arrays))


@lru_cache(maxsize=1000)
def measured(activation: str, kind: Kind, depth: int, residual: bool, norm: NormName, pre: bool) -> np.ndarray:
    return gradient_norms(Network(kind, depth, activation, residual, norm, pre)).numpy()


@lru_cache(maxsize=100)
def by_depth(kind: Kind, activation: str, pre: bool) -> np.ndarray:
    """Pre-norm against post-norm, which differ by the depth of the network more than by the layer."""
    return last_by_depth(Network(kind, DEPTHS[0], activation, True, "LayerNorm", pre), DEPTHS).numpy()


def by_layer(norms: Norms, depth: int) -> Chart:
    lines = {name: (np.arange(1, depth + 1), each) for name, each in norms.items()}
    figure = curves(lines, "layer, 1 is next to the input", "norm of the gradient", mode="lines+markers")
    low, high = (10.0**end for end in LEAST_POWERS)  # what hardly changes has to look so
    low = min([low, *(float(each.min()) for each in norms.values())])
    high = max([high, *(float(each.max()) for each in norms.values())])
    powers = [float(np.log10(low)) - 0.3, float(np.log10(high)) + 0.3]
    figure.update_yaxes(type="log", exponentformat="power", range=powers, dtick=max(1, round(np.ptp(powers) / 6)))
    return coloured(Chart(figure, "Norm of the gradient of every layer's weights, by activation"))


def against_depth(title: str, pre: np.ndarray, post: np.ndarray) -> Chart:
    lines = {"pre-norm": pre, "post-norm": post, "1/√L": pre[0] * (DEPTHS[0] / np.array(DEPTHS)) ** 0.5}
    drawn = {name: (np.array(DEPTHS), values) for name, values in lines.items()}
    words = "layers of the network, L", "gradient of the last layer"
    figure = curves(drawn, *words, title, mode="lines+markers")
    figure.update_traces(line_dash="dot", mode="lines", selector={"name": "1/√L"})
    figure.update_yaxes(range=[0, 1.1 * max(pre.max(), post.max())])
    return Chart(figure, "Norm of the gradient of the last layer by the depth of the network")
