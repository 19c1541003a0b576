"""Activations: the curves with their derivatives, and what the model's own activations are given."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from vizkit.analysis.convolution.activations import ACTIVATIONS, values_and_slopes
from vizkit.analysis.remarks import convolution
from vizkit.figure.charts import curves, heat_map, rule
from vizkit.figure.palette import CLASSES
from vizkit.models.probes.convolution.layers_seen import BINS, HIGH, LOW, Activated
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Chart, Columns, Line, Numbers, Part, Said
from vizkit.views.controls import layer, several
from vizkit.views.convolution.feature_maps import pass_of
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

COLOURS = dict(zip(ACTIVATIONS, CLASSES, strict=False))  # on every chart
HEADINGS = {"f(x)": "Activation", "f′(x)": "Its derivative: the gradient that it lets through"}


def count(of: Sequence[Subject]) -> int:
    return max((len(pass_of(each).activated) for each in of), default=1) or 1


class Activations(View):
    """What lets a network bend: the curves, and what a model's own are given."""

    curves: tuple[str, ...] = several(
        "Activations",
        tuple(ACTIVATIONS),
        "Which are drawn.",
        default=("ReLU", "sigmoid", "GELU"),
        key="activations",
    )
    layer: int | None = layer(
        "Activation", "Whose numbers are drawn alone.", default=1, high=count, key="activation_layer"
    )

    alone = True
    overlays = False
    how = How(
        "An activation bends the sum of a layer; without one, all layers together would be one linear map. Going "
        "back, every layer multiplies the gradient by the derivative: at most ¼ for the sigmoid, 1 for tanh and ReLU. "
        "Below: the numbers that the model’s own activations are given for this image.",
        r"\mathrm{GELU}(x) = x\,\Phi(x), \quad \mathrm{SiLU}(x) = x\,\sigma(x), \quad \sigma' = \sigma (1 - \sigma)",
        "which one trains best: that depends on depth, weights and normalisation.",
        "Hendrycks & Gimpel 2016; Ramachandran et al. 2017",
    )

    def title(self, of: Subject) -> str:
        return f"Activations, and what number {self.layer} is given"

    def show(self, of: Subject) -> Blocks:
        x = torch.linspace(-6, 6, 961)
        both = {name: values_and_slopes(name, x) for name in self.curves}
        charts = []
        for index, (y, heading) in enumerate(HEADINGS.items()):
            lines = {name: (x.numpy(), pair[index].numpy()) for name, pair in both.items()}
            figure = curves(lines, "x", y, heading).update_traces(line_simplify=False)
            charts.append((coloured(Chart(figure, f"{heading} against x")),))
        yield Columns(tuple(charts))
        yield Part(partial(self.given, of))

    def given(self, of: Subject) -> Blocks:
        """What each activation of the model is given, as a histogram for every layer."""
        layers = pass_of(of).activated
        if not layers:
            raise NotApplicable(f"{of.name} calls no activation that is known here.")
        number = min(self.layer or len(layers), len(layers))
        chosen, shares = layers[number - 1], shares_of(layers)
        yield Said(convolution.negative([(each.name, each.negative) for each in layers]))
        words = f"{chosen.path} · mean {chosen.mean:.2f} · standard deviation {chosen.std:.2f}".replace("-", "−")
        yield Columns(
            (
                (of_all(shares),),
                (of_one(shares, number, chosen), Line(words)),
            ),
            (3, 2),
        )
        yield Numbers(partial(dict, {"edges": np.linspace(LOW, HIGH, BINS + 1), "shares": shares}))


def coloured(chart: Chart) -> Chart:
    """Lines that are called by their activations, each in its own colour."""
    chart.figure.for_each_trace(lambda line: line.update(line_color=COLOURS[line.name]))
    return chart


def shares_of(layers: Sequence[Activated]) -> np.ndarray:
    """Of the numbers in each bin, (layer, bin); what lies beyond is in the last ones."""
    counts = torch.stack([layer.counts for layer in layers]).numpy()
    return counts / counts.sum(1, keepdims=True)


def of_all(shares: np.ndarray) -> Chart:
    names = [str(number + 1) for number in range(len(shares))]
    figure = heat_map(
        shares * 100,
        "what the activation is given",
        "activation",
        "Pre-activations of every layer",
        x_names=[f"{middle:.1f}" for middle in middles()],
        square=False,
        y_names=names,
    )
    figure.update_traces(colorbar_title_text="%", x=middles())
    rule(figure, 0.0, "dot")
    return Chart(figure, "Share of the numbers in every bin, a row for each layer")


def of_one(shares: np.ndarray, number: int, chosen: Activated) -> Chart:
    line = {f"{number} {chosen.path}": (middles(), shares[number - 1] * 100)}
    title = f"{chosen.name} {number}"
    figure = curves(line, "what the activation is given", "% of the numbers", title, marked={0.0: "dot"})
    figure.update_traces(fill="tozeroy", line_shape="hvh")
    return Chart(figure, "The histogram of the chosen activation")


def middles() -> np.ndarray:
    """Of the bins."""
    edges = np.linspace(LOW, HIGH, BINS + 1)
    return (edges[1:] + edges[:-1]) / 2
