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


@dataclass(frozen=True)
class Norms:
    """‖x_i‖₂ of every token after the layer `name`, special tokens first. `lower`, `median` and `upper` are the
    quartiles of the patches; outliers lie above `threshold` = median + k·MAD of the patches."""

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


def token_norms(trace: Trace, k: float = 5.0) -> tuple[Norms, ...]:
    """The norms after every layer. MAD: median absolute deviation, unscaled.

    Quartiles and MAD are those of the patches; class and register tokens are long by design and never marked. A high
    norm says that a token is used to store something, not what.
    """
    if not trace.features:
        raise NotApplicable(f"{trace.model} does not hand out the vectors between its blocks.")
    return tuple(norms_of(features, k) for features in trace.features)


def norms_of(features: Features, k: float = 5.0) -> Norms:
    norms = features.values.float().norm(dim=1)
    names = features.tokens.special
    patches = norms[len(names) :]
    lower, median, upper = patches.quantile(torch.tensor([0.25, 0.5, 0.75])).tolist()
    spread = float((patches - median).abs().quantile(0.5))
    # Vectors that are all equally long differ by rounding only; that marks nothing.
    threshold = median + k * max(spread, 1e-6 * median)
    outliers = norms > threshold
    outliers[: len(names)] = False
    special = dict(zip(names, norms.tolist(), strict=False))
    return Norms(features.name, norms, special, lower, median, upper, threshold, outliers)


def lines_of(norms: Sequence[Norms], places: Sequence[int | None] = ()) -> dict[str, Float[np.ndarray, " layer"]]:
    """By layer: quartiles, median and maximum of the patches, every special token (NaN where a layer has none), and the
    token `places` of each layer."""
    lines = {
        "lower quartile": [layer.lower for layer in norms],
        "upper quartile": [layer.upper for layer in norms],
        "median of the patches": [layer.median for layer in norms],
        "longest patch": [float(layer.patches.max()) for layer in norms],
    }
    for name in dict.fromkeys(name for layer in norms for name in layer.special):
        lines[f"[{name}]"] = [layer.special.get(name, math.nan) for layer in norms]
    if places:
        lines["the chosen patch"] = [
            math.nan if i is None else float(layer.norms[i]) for i, layer in zip(places, norms, strict=True)
        ]
    return {name: np.array(values) for name, values in lines.items()}
