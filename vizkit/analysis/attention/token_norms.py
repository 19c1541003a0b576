"""How long every token's vector is, layer by layer (Darcet et al. 2024, "Vision transformers need registers", arXiv
2309.16588): in large models a few patches of plain background become far longer than all others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.traces import Features, NotApplicable, Trace

LOWER, HALF = "lower quartile", "middle half"
"""Names of the two lines between which the middle half of the patches lies."""
K, TIMES, FEW = 5.0, 2.0, 0.1
"""An outlier is far beyond the others (`K` MAD of the logarithms), at least `TIMES` the median, and one of few: where
more than this share of the patches is so long, the image has two kinds of places, as an object and its ground."""


@dataclass(frozen=True)
class Norms:
    """‖x_i‖₂ of every token after the layer `name`, special tokens first. `lower`, `median` and `upper` are the
    quartiles of the patches; `outliers` lie above `threshold`, see `norms_of`."""

    name: str
    norms: Float[Tensor, " token"]
    special: dict[str, float]
    lower: float
    median: float
    upper: float
    threshold: float
    outliers: Bool[Tensor, " token"]

    @property
    def patches(self) -> Float[Tensor, " patch"]:
        return self.norms[len(self.special) :]


def token_norms(trace: Trace) -> tuple[Norms, ...]:
    """The norms after every layer. Class and register tokens are long by design and never marked. A high norm says
    that a token is used to store something, not what."""
    if not trace.features:
        raise NotApplicable(f"{trace.model} does not hand out the vectors between its blocks.")
    return tuple(norms_of(features) for features in trace.features)


def norms_of(features: Features) -> Norms:
    """Outliers lie above exp(median + K · MAD) of the logarithms of the patches' norms (MAD: median absolute deviation,
    unscaled) and above TIMES their median; none where they are more than a tenth of the patches (and more than one).
    Norms of ordinary tokens spread by factors, so in logarithms, and in a model without artifacts the longest patch is
    1.2 to 1.7 times as long as the median, in one with them 3 times and more (Darcet et al. 2024, fig. 3)."""
    norms = features.values.float().norm(dim=1)
    names = features.tokens.special
    patches = norms[len(names) :]
    lower, median, upper = patches.quantile(torch.tensor([0.25, 0.5, 0.75])).tolist()
    logarithms = patches.clamp(min=1e-30).log()
    middle = logarithms.quantile(0.5)
    spread = float((logarithms - middle).abs().quantile(0.5))
    threshold = max(float(middle.exp()) * math.exp(min(K * spread, 50.0)), TIMES * median)
    outliers = norms > threshold
    outliers[: len(names)] = False
    if int(outliers.sum()) > max(1, FEW * len(patches)):
        outliers[:] = False
    special = dict(zip(names, norms.tolist(), strict=False))
    return Norms(features.name, norms, special, lower, median, upper, threshold, outliers)


def lines_of(norms: Sequence[Norms], places: Sequence[int | None], noun: str) -> dict[str, Float[np.ndarray, " layer"]]:
    """By layer: quartiles, median and maximum of the patches, the token `places` of each layer, and every special token
    (NaN where a layer has none)."""
    lines = {
        LOWER: [layer.lower for layer in norms],
        HALF: [layer.upper for layer in norms],
        "median": [layer.median for layer in norms],
        "largest": [float(layer.patches.max()) for layer in norms],
    }
    lines[f"the chosen {noun}"] = [
        math.nan if i is None else float(layer.norms[i]) for i, layer in zip(places, norms, strict=True)
    ]
    for name in dict.fromkeys(name for layer in norms for name in layer.special):
        lines[f"[{name}]"] = [layer.special.get(name, math.nan) for layer in norms]
    return {name: np.array(values) for name, values in lines.items()}
