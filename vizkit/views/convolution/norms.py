"""Norms: LayerNorm, BatchNorm and their relatives on the model's own tokens; which numbers share a mean."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.convolution.norms import AXES, Normed, normed, together
from vizkit.analysis.remarks import convolution
from vizkit.datasets import samples
from vizkit.figure.convolution.sharing import sharing
from vizkit.models import trace
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Blocks, Chart, Columns, Line, Numbers, Said, first_said
from vizkit.views.controls import layer, number
from vizkit.views.convolution.known import samples_for
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MOST_IMAGES, TOKENS, CHANNELS = 4, 6, 24  # of which numbers are drawn
GROUPS = 16  # of GroupNorm, so that several are seen
LIMIT = 2.5  # standard deviations


def most_blocks(of: Sequence[Subject]) -> int:
    return max((len(each.seen.features) for each in of), default=1) or 1


class Norms(View):
    """Which numbers share a mean, on the model's own tokens."""

    block: int | None = layer(
        "Features after block", "Whose numbers are normalised.", default=1, high=most_blocks, key="norm_layer"
    )
    images: int = number("Images in the batch", 1, MOST_IMAGES, 2, "Yours, then samples.", key="norm_images")
    channel: int = number("Channel", 1, CHANNELS, 9, "Of the number in the small frame.", key="norm_channel")

    alone = True
    overlays = False
    how = How(
        "A frame holds the numbers that share a mean and a standard deviation with the small one. Only BatchNorm’s "
        "frame reaches into other images: what it gives for yours depends on them, and a batch of one is a problem.",
        r"\hat h = \frac{h - \mu}{\sqrt{\sigma^2 + \epsilon}}, \quad y = \gamma \hat h + \beta",
        "the learned scale γ and shift β; in use BatchNorm takes means remembered from training. A ViT normalises "
        "before a layer, x + f(LN(x)); the first transformer did it after, LN(x + f(x)): see Vanishing gradients.",
        "Ioffe & Szegedy 2015; Ba et al. 2016; Wu & He 2018; Zhang & Sennrich 2019",
    )

    def title(self, of: Subject) -> str:
        return f"Which numbers share a mean: features {self.block}, channel {self.channel}"

    def show(self, of: Subject) -> Blocks:
        depth = len(of.seen.features)
        if not depth:
            raise NotApplicable(f"{of.name} gives no features that could be normalised.")
        index = min(self.block or depth, depth) - 1
        every: list[Tensor] = of.kept("batches", partial(batches, of))
        x = every[index][: self.images]
        at = (0, x.shape[1] // 2, min(self.channel, x.shape[2]) - 1)
        results = {name: normed(x, name, GROUPS) for name in AXES}
        single = {name: float(normed(x[:1], name, GROUPS).values[at]) for name in AXES}
        numbers = {name: (single[name], float(result.values[at])) for name, result in results.items()}
        yield Said(first_said(convolution.alone(numbers, self.images)))
        yield Line(drawn_of(x))
        charts = [before(x, at, of.seen.features[index].name)]
        charts += [after(x, at, name, result) for name, result in results.items()]
        yield Columns(tuple(charts[:3]))
        yield Columns(tuple(charts[3:]))
        yield Numbers(partial(as_arrays, x, results))


def batches(of: Subject) -> list[Float[Tensor, "image token channel"]]:
    """What leaves every block for the chosen picture and some samples, without special tokens."""
    others = [name for name in samples_for(of.loaded) if name != of.image][: MOST_IMAGES - 1]
    traces = [of.seen, *(trace(of.loaded, samples.picture(name)) for name in others)]
    return [
        torch.stack([each.values[len(each.tokens.special) :].float() for each in features])
        for features in zip(*(each.features for each in traces), strict=True)
    ]


def drawn_of(x: Tensor) -> str:
    _, tokens, channels = x.shape
    drawn = (
        f"{min(CHANNELS, channels)} of {channels} channels and {min(TOKENS, tokens)} of {tokens:,} tokens of each image"
    )
    return f"Drawn are {drawn}; every mean is over all numbers of its kind. Colours in standard deviations."


def before(x: Tensor, at: tuple[int, int, int], name: str) -> tuple[Block, ...]:
    drawn, inside = excerpt(x, at)
    spread = float(drawn.std()) or 1.0
    figure = sharing(drawn, None, inside, "Before: the model’s numbers", limit=LIMIT, spread=spread)
    words = f"{name} · the small frame holds {float(x[at]):.2f}".replace("-", "−")
    return Chart(figure, "The model's own numbers, tokens by channels"), Line(words)


def after(x: Tensor, at: tuple[int, int, int], name: str, result: Normed) -> tuple[Block, ...]:
    values, inside = excerpt(result.values, at)
    mask, _ = excerpt(together((x.shape[0], x.shape[1], x.shape[2]), name, at, GROUPS), at)
    figure = sharing(values, mask.astype(bool), inside, name, limit=LIMIT)
    alt = f"The same after {name}, with a frame around what shares a mean"
    number, mean, std = (float(each[at]) for each in (x, result.mean, result.std))
    top = f"{number:.2f}" if name == "RMSNorm" else f"({number:.2f} − {mean:.2f})".replace("− -", "+ ")
    words = f"over {AXES[name]}: {result.count:,} numbers · {top} ÷ {std:.2f} = {(number - mean) / std:.2f}"
    return Chart(figure, alt), Line(words.replace("-", "−"))


def excerpt(x: Tensor, at: tuple[int, int, int]) -> tuple[np.ndarray, tuple[int, int, int]]:
    """A few tokens around the chosen one and the first channels, and where the chosen number is in them."""
    start = max(0, min(at[1] - TOKENS // 2, x.shape[1] - TOKENS))
    return x[:, start : start + TOKENS, :CHANNELS].numpy().astype(float), (at[0], at[1] - start, at[2])


def as_arrays(x: Tensor, results: dict[str, Normed]) -> dict[str, np.ndarray]:
    return {"before": x.numpy(), **{name: result.values.numpy() for name, result in results.items()}}
