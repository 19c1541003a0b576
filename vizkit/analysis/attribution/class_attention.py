"""Attention that speaks for a class, and the mass that it brings to the places of the image.

Ā = mean_h relu(A ⊙ ∂y_c/∂A), relu before the mean: Chefer et al. 2021 (arXiv 2103.15679), eq. 5. Weights and gradient
are of the same layer, both after the softmax. In float64, as gradients are small beside the identity that is added.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attribution.layer_product import Factor, Query, factors, start, stream, through
from vizkit.traces import Attention, Map, NotApplicable, Trace, refuse

ROUNDING = 1e-12
"""Mass that differs by less than this share of the largest differs by rounding only."""


def _class_attention(layer: Attention) -> Float[Tensor, "group query key"]:
    """Ā of one layer, ≥ 0, in logits."""
    if layer.gradient is None:
        raise NotApplicable("This needs the gradient of a class: choose a target class first.")
    return (layer.weights.double() * layer.gradient.double()).clamp(min=0).mean(1)


def class_mass(
    trace: Trace, query: Query, identity: float, share: float, start_layer: int, normalise: bool
) -> tuple[Map, Map]:
    """On the places of the input: the row of Π (identity · I + share · Ā), and the same with every Ā left out."""
    if trace.target is None:
        raise NotApplicable("This needs the gradient of a class: choose a target class first.")
    layers = stream(trace)
    end, row, _ = start(layers, query)

    def places(mixing: Callable[[Attention], Tensor]) -> Map:
        ready: list[Factor] = factors(layers, mixing, identity, share, start_layer, normalise)
        mass = through(ready[: end + 1], row)
        assert mass.tokens.grid is not None
        return mass.rows[0, len(mass.tokens.special) :].unflatten(0, mass.tokens.grid)

    return places(_class_attention), places(_nothing)


def _nothing(layer: Attention) -> Float[Tensor, "group query key"]:
    groups, _, queries, keys = layer.weights.shape
    return torch.zeros(groups, queries, keys, dtype=torch.float64, device=layer.weights.device)


def gained(relevance: Map, without: Map, method: str) -> Map:
    """What attention changed; NotApplicable where it changed nothing."""
    gain = relevance - without
    speaks = gain.abs().max() > ROUNDING * without.abs().max()
    refuse(~speaks, f"{method} gives nothing for this class here: nothing that attends speaks for it.")  # NaN too
    return gain
