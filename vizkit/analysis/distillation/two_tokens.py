"""How far the class token and the distillation token of a distilled model do the same (Touvron et al. 2021, § 4)."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers
from vizkit.traces import NotApplicable, Trace, query_row

PAIR = ("cls", "dist")
PUBLISHED, DEPTH = (0.06, 0.93), 12
"""Cosine of the learned tokens, and of what leaves the last layer, in DeiT-B (§ 4, "Distillation token"), and its
layers."""


def cosines(trace: Trace) -> Float[Tensor, " layer"]:
    """Cosine of the two tokens as they leave each layer, −1 to 1. NotApplicable without both of them."""
    layers = [features for features in trace.features if set(PAIR) <= set(features.tokens.special)]
    if not layers:
        raise NotApplicable("The two tokens between the layers of this model are not known, so they are not compared.")
    pairs = [[features.values[features.tokens.special.index(name)].float() for name in PAIR] for features in layers]
    return torch.stack([F.cosine_similarity(cls, dist, dim=0) for cls, dist in pairs])


def overlaps(trace: Trace) -> Float[Tensor, " layer"]:
    """The share of attention that both tokens give the same keys, by layer: Σ min(a_cls, a_dist), from 0 to 1.

    One minus the total variation distance of the two rows, heads averaged, special tokens included. NotApplicable
    where no layer has both tokens as queries.
    """
    shared = []
    for layer in layers(trace):
        if set(PAIR) <= set(layer.query.special):
            cls, dist = (query_row(layer, layer.query.special.index(name)).mean(0) for name in PAIR)
            shared.append(torch.minimum(cls, dist).sum())
    if not shared:
        raise NotApplicable("No attention layer of this model has both tokens as queries.")
    return torch.stack(shared)
