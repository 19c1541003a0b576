"""What makes deep networks trainable: gradients that vanish or do not as residual paths, norms and activations change;
the activations, and what a model's own are given; which numbers the norms average, on a model's own tokens."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.convolution.activations import ACTIVATIONS, values_and_slopes
from vizkit.analysis.convolution.norms import AXES, normed, together
from vizkit.analysis.convolution.vanishing import Kind, Network, NormName, gradient_norms, last_by_depth
from vizkit.analysis.remarks import convolution
from vizkit.datasets import samples
from vizkit.figure.charts import curves, heat_map, rule
from vizkit.figure.convolution.sharing import sharing
from vizkit.figure.palette import CLASSES
from vizkit.models import trace
from vizkit.models.probes.convolution.layers_seen import BINS, HIGH, LOW
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Blocks, Chart, Columns, Line, Numbers, Said, first_said
from vizkit.views.controls import choice, layer, number, several, switch
from vizkit.views.convolution.known import samples_for
from vizkit.views.convolution.passes import pass_of
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

DEPTHS = (4, 8, 12, 20, 32, 50)
PLACES = ("pre-norm", "post-norm")
LEAST_POWERS = (-3, 1)  # of ten, that the axis shows
COLOURS = dict(zip(ACTIVATIONS, CLASSES, strict=False))  # on every chart
HEADINGS = {"f(x)": "Activation", "f′(x)": "Its derivative: the gradient that it lets through"}
MOST_IMAGES, TOKENS, CHANNELS = 4, 6, 24  # of which numbers are drawn
GROUPS = 16  # of GroupNorm, so that several are seen
LIMIT = 2.5  # standard deviations
Unit = tuple[int, int, int]  # image, token, channel


def most_blocks(of: Sequence[Subject]) -> int:
    return max((len(each.seen.features) for each in of), default=1) or 1


class Trainable(View):
    """What is left of the gradient at the first of many layers, and what activations and norms have to do with it."""

    shows: Literal["gradients", "activations", "norms"] = choice(
        "What",
        ("gradients", "activations", "norms"),
        "Gradients of a network of equal layers with random weights; the activations, and what the model's own are "
        "given; norms of the model's own tokens.",
        key="trainable",
        runs=True,
    )
    residual: bool = switch(
        "Residual x + f(x)",
        "What a layer is given is added again.",
        key="vanishing_residual",
        when=lambda view: view.shows == "gradients",
    )
    norm: Literal["none", "LayerNorm", "BatchNorm"] = choice(
        "Norm",
        ("none", "LayerNorm", "BatchNorm"),
        "What normalises every layer.",
        key="vanishing_norm",
        when=lambda view: view.shows == "gradients",
    )
    place: Literal["pre-norm", "post-norm"] = choice(
        "Its place",
        PLACES,
        "x + f(norm(x)) as in ViT, or norm(x + f(x)) as in the first transformer. Without residuals layers and norms "
        "alternate in both, so the lines hardly differ.",
        key="vanishing_place",
        when=lambda view: view.shows == "gradients" and view.norm != "none",
    )
    activations: tuple[str, ...] = several(
        "Activations",
        tuple(ACTIVATIONS),
        "A line for each.",
        default=("sigmoid", "tanh", "ReLU"),
        key="vanishing_of",
        when=lambda view: view.shows != "norms",
    )
    kind: Literal["MLP", "CNN"] = choice(
        "Network",
        ("MLP", "CNN"),
        "Of equal layers, with random weights.",
        more=True,
        key="vanishing_kind",
        when=lambda view: view.shows == "gradients",
    )
    depth: int = number(
        "Layers",
        2,
        50,
        20,
        "How deep the network is.",
        more=True,
        key="vanishing_depth",
        when=lambda view: view.shows == "gradients",
    )
    block: int | None = layer(
        "Features after block",
        "Whose numbers are normalised.",
        default=1,
        high=most_blocks,
        key="norm_layer",
        when=lambda view: view.shows == "norms",
    )
    images: int = number(
        "Images in the batch",
        1,
        MOST_IMAGES,
        2,
        "Yours, then samples.",
        key="norm_images",
        when=lambda view: view.shows == "norms",
    )
    channel: int = number(
        "Channel",
        1,
        CHANNELS,
        9,
        "Of the number in the small frame.",
        key="norm_channel",
        when=lambda view: view.shows == "norms",
    )

    alone = True
    overlays = False
    how = How(
        "Going back, every layer multiplies the gradient by the derivative of its activation, at most ¼ for the "
        "sigmoid: a line that falls to the left loses its gradient, and the first layers hardly learn. A residual "
        "connection or a norm brings it back. With post-norm the last layers’ gradient stays large however deep the "
        "network is, so it needs a learning rate that warms up; pre-norm, as in ViT, does not. In the figures of "
        "norms a frame holds the numbers that share a mean and a standard deviation with the small one: only "
        "BatchNorm’s reaches into other images.",
        r"\frac{\partial L}{\partial x_l} = \frac{\partial L}{\partial x_n} \prod_{k=l+1}^{n} "
        r"\frac{\partial x_k}{\partial x_{k-1}}, \quad x + f(x):\ \frac{\partial x_k}{\partial x_{k-1}} = 1 + f', "
        r"\qquad \hat h = \frac{h - \mu}{\sqrt{\sigma^2 + \epsilon}}",
        "the course of a training: gradients are those of random weights before the first step, the same for every "
        "setting; and in use BatchNorm takes means remembered from training.",
        "Glorot & Bengio 2010; He et al. 2015; Ioffe & Szegedy 2015; Ba et al. 2016; Hendrycks & Gimpel 2016; "
        "Wu & He 2018; Zhang & Sennrich 2019; Xiong et al. 2020",
    )

    def title(self, of: Subject) -> str:
        if self.shows == "activations":
            return "Activations, and what the model’s own are given"
        if self.shows == "norms":
            return f"Which numbers share a mean: features {self.block}, channel {self.channel}"
        words = [f"{self.kind} of {self.depth} layers", *(["residuals"] if self.residual else [])]
        words += [f"{self.place} with {self.norm}"] if self.norm != "none" else []
        return f"Gradient of every layer: {', '.join(words)}, random weights"

    def show(self, of: Subject) -> Blocks:
        yield from {"gradients": self.gradients, "activations": self.given, "norms": self.normed}[self.shows](of)

    def gradients(self, of: Subject) -> Blocks:
        settings = self.kind, self.depth, self.residual, self.norm, self.place == PLACES[0]
        norms = {name: measured(name, *settings) for name in self.activations}
        yield Said(first_said(convolution.vanished(norms)))
        yield Line("Networks built for this view, with random weights: none of your models.")
        yield by_layer(norms, self.depth)
        first = "ReLU" if "ReLU" in norms or not norms else next(iter(norms))
        pre, post = (by_depth(self.kind, first, pre) for pre in (True, False))
        yield Said(first_said(convolution.deeper(DEPTHS, pre, post)))
        title = f"Pre- and post-norm: {self.kind}, {first}, residuals"
        yield against_depth(title, pre, post)
        every = np.array([norms.get(name, np.full(self.depth, 0.0)) for name in ACTIVATIONS])
        arrays = {"activations": np.array(list(norms)), "by_layer": every, "pre_norm": pre, "post_norm": post}
        yield Numbers(lambda: arrays)

    def given(self, of: Subject) -> Blocks:
        """The curves, and what each activation of the model is given, as a histogram for every layer."""
        layers = pass_of(of).activated
        if layers:
            yield Said(convolution.negative([(each.name, each.negative) for each in layers]))
        x = torch.linspace(-6, 6, 961)
        both = {name: values_and_slopes(name, x) for name in self.activations}
        charts = []
        for index, (y, heading) in enumerate(HEADINGS.items()):
            lines = {name: (x.numpy(), pair[index].numpy()) for name, pair in both.items()}
            figure = curves(lines, "x", y, heading).update_traces(line_simplify=False)
            charts.append((coloured(Chart(figure, f"{heading} against x")),))
        yield Columns(tuple(charts))
        if not layers:
            yield Line(f"{of.name} calls no activation that is known here.")
            return
        counts = torch.stack([each.counts for each in layers]).numpy()
        shares = counts / counts.sum(1, keepdims=True)
        yield histograms(shares)
        yield Numbers(lambda: {"edges": np.linspace(LOW, HIGH, BINS + 1), "shares": shares})

    def normed(self, of: Subject) -> Blocks:
        """The same numbers before and after every norm."""
        depth = len(of.seen.features)
        if not depth:
            raise NotApplicable(f"{of.name} gives no features that could be normalised.")
        index = min(self.block or depth, depth) - 1
        every: list[Tensor] = of.kept("batches", partial(batches, of))
        x = every[index][: self.images]
        at = (0, x.shape[1] // 2, min(self.channel, x.shape[2]) - 1)
        results = {name: normed(x, name, GROUPS) for name in AXES}
        numbers = {
            name: (float(normed(x[:1], name, GROUPS).values[at]), float(result.values[at]))
            for name, result in results.items()
        }
        yield Said(first_said(convolution.alone(numbers, self.images)))
        _, tokens, channels = x.shape
        drawn = f"{min(CHANNELS, channels)} of {channels} channels and {min(TOKENS, tokens)} of {tokens:,} tokens"
        yield Line(f"Drawn are {drawn} of each image; every mean is over all numbers of its kind.")
        name = of.seen.features[index].name
        words = f"{name} · the small frame holds {float(x[at]):.2f}".replace("-", "−")
        charts = [framed(x, at, None, "Before: the model’s numbers", words, float(x.std()) or 1.0)]
        for name, result in results.items():
            mask = together((x.shape[0], x.shape[1], x.shape[2]), name, at, GROUPS)
            value, mean, std = (float(each[at]) for each in (x, result.mean, result.std))
            top = f"{value:.2f}" if name == "RMSNorm" else f"({value:.2f} − {mean:.2f})".replace("− -", "+ ")
            words = f"over {AXES[name]}: {result.count:,} numbers · {top} ÷ {std:.2f} = {(value - mean) / std:.2f}"
            charts.append(framed(result.values, at, mask, name, words.replace("-", "−")))
        yield Columns(tuple(charts[:3]))
        yield Columns(tuple(charts[3:]))
        arrays = {"before": x.numpy(), **{name: result.values.numpy() for name, result in results.items()}}
        yield Numbers(lambda: arrays)


# ---- what is measured ------------------------------------------------------------------------------------------------
@lru_cache(maxsize=1000)
def measured(activation: str, kind: Kind, depth: int, residual: bool, norm: NormName, pre: bool) -> np.ndarray:
    return gradient_norms(Network(kind, depth, activation, residual, norm, pre)).numpy()


@lru_cache(maxsize=100)
def by_depth(kind: Kind, activation: str, pre: bool) -> np.ndarray:
    """Pre-norm against post-norm, which differ by the depth of the network more than by the layer."""
    return last_by_depth(Network(kind, DEPTHS[0], activation, True, "LayerNorm", pre), DEPTHS).numpy()


def batches(of: Subject) -> list[Float[Tensor, "image token channel"]]:
    """What leaves every block for the chosen image and some samples, without special tokens."""
    others = [name for name in samples_for(of.loaded) if name != of.image][: MOST_IMAGES - 1]
    traces = [of.seen, *(trace(of.loaded, samples.picture(name)) for name in others)]
    return [
        torch.stack([each.values[len(each.tokens.special) :].float() for each in features])
        for features in zip(*(each.features for each in traces), strict=True)
    ]


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def coloured(chart: Chart) -> Chart:
    """Lines that are called by their activations, each in its own colour."""
    chart.figure.for_each_trace(lambda line: line.update(line_color=COLOURS[line.name]))
    return chart


def by_layer(norms: Mapping[str, np.ndarray], depth: int) -> Chart:
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
    figure = curves(drawn, "layers of the network, L", "gradient of the last layer", title, mode="lines+markers")
    figure.update_traces(line_dash="dot", mode="lines", selector={"name": "1/√L"})
    figure.update_yaxes(range=[0, 1.1 * max(pre.max(), post.max())])
    return Chart(figure, "Norm of the gradient of the last layer by the depth of the network")


def histograms(shares: Float[np.ndarray, "layer bin"]) -> Chart:
    edges = np.linspace(LOW, HIGH, BINS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    figure = heat_map(
        shares * 100,
        "what the activation is given",
        "activation",
        "What the activations of this model are given",
        x_names=[f"{middle:.1f}" for middle in middles],
        square=False,
        y_names=[str(number) for number in range(1, len(shares) + 1)],
    )
    figure.update_traces(colorbar_title_text="%", x=middles)
    rule(figure, 0.0, "dot")
    return Chart(figure, "Share of the numbers in every bin, a row for each layer")


def framed(
    x: Float[Tensor, "image token channel"], at: Unit, mask: Tensor | None, title: str, words: str, spread: float = 1.0
) -> tuple[Block, ...]:
    """A few tokens around the chosen one and the first channels, with a frame around what shares a mean."""
    start = max(0, min(at[1] - TOKENS // 2, x.shape[1] - TOKENS))
    some = (slice(None), slice(start, start + TOKENS), slice(CHANNELS))
    inside = None if mask is None else mask[some].numpy().astype(bool)
    place = at[0], at[1] - start, at[2]
    figure = sharing(x[some].numpy().astype(float), inside, place, title, limit=LIMIT, spread=spread)
    return Chart(figure, f"{title}, tokens by channels in standard deviations"), Line(words)
