"""Attention one step at a time: scores, scaling, softmax, weighted values; and what happens when a step is left out.

Vaswani et al. 2017 (arXiv 1706.03762), eq. 1 and § 3.2: Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

SENTENCE = ("YOUR", "CAT", "IS", "A", "LOVELY", "CAT")
SENTENCE_WEIGHTS = (
    (0.268, 0.119, 0.134, 0.148, 0.179, 0.152),
    (0.124, 0.278, 0.201, 0.128, 0.154, 0.115),
    (0.147, 0.132, 0.262, 0.097, 0.218, 0.145),
    (0.210, 0.128, 0.206, 0.212, 0.119, 0.125),
    (0.146, 0.158, 0.152, 0.143, 0.227, 0.174),
    (0.195, 0.114, 0.203, 0.103, 0.157, 0.229),
)
"""Weights of a six-token sentence used in teaching; every row sums to one (±.002, as printed)."""


@dataclass(frozen=True)
class Steps:
    """`scores` = Q Kᵀ; `scaled` = scores · scale; `biased` = scaled + bias, what softmax sees; `mixed` = weights V."""

    scores: Float[Tensor, "head query key"]
    scaled: Float[Tensor, "head query key"]
    biased: Float[Tensor, "head query key"]
    weights: Float[Tensor, "head query key"]
    mixed: Float[Tensor, "head query width"]


def steps(
    query: Float[Tensor, "head query d_k"],
    key: Float[Tensor, "head key d_k"],
    value: Float[Tensor, "head key width"],
    scale: Float[Tensor, " head"] | float | None = None,
    bias: Float[Tensor, "head query key"] | None = None,
) -> Steps:
    """Every step of attention. `scale`: None for 1/√d_k, 1.0 to leave the scaling out, or one number for each head.

    `bias` is added to the scaled scores: relative positions, or −∞ where a query may not look. A query that may look
    nowhere has weights of zero, as in torch's kernel.
    """
    scores = query @ key.transpose(-1, -2)
    factor = torch.as_tensor(query.shape[-1] ** -0.5 if scale is None else scale, dtype=scores.dtype).view(-1, 1, 1)
    scaled = scores * factor.to(scores.device)
    biased = scaled if bias is None else scaled + bias
    weights = softmax(biased)
    return Steps(scores, scaled, biased, weights, weights @ value)


def softmax(scores: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head query key"]:
    """exp(s_ij) / Σ_j exp(s_ij); rows of −∞ become zeros instead of NaN."""
    nowhere = (scores == float("-inf")).all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(nowhere, 0.0)


def entropy(weights: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head query"]:
    """−Σ_j w_ij log w_ij, from 0 (all on one key) to log(number of keys) (spread evenly)."""
    return torch.special.entr(weights).sum(-1)


@dataclass(frozen=True)
class Saturation:
    """Each row's entropy as a share of log N (0: one key gets all, 1: all get the same) and its largest weight."""

    entropy: Float[Tensor, "head query"]
    largest: Float[Tensor, "head query"]


def saturation(weights: Float[Tensor, "head query key"]) -> Saturation:
    """How sharp the rows of a softmax are. Compare the model's own weights with those of `unscaled`."""
    keys = weights.shape[-1]
    return Saturation(entropy(weights) / (math.log(keys) if keys > 1 else 1.0), weights.amax(-1))


def single_head(
    query: Float[Tensor, "head query d_k"],
    key: Float[Tensor, "head key d_k"],
    value: Float[Tensor, "head key width"],
    bias: Float[Tensor, "head query key"] | None = None,
) -> Steps:
    """One head in place of many: all heads' queries and keys side by side, scaled by 1/√(heads · d_k); `bias` averaged.

    With many heads each may look elsewhere; here one set of weights has to serve all values (Vaswani et al. 2017,
    § 3.2.2). This layer was not trained so: it shows the form, not what such a model would have learned.
    """
    return steps(*map(beside, (query, key, value)), bias=None if bias is None else bias.mean(0, keepdim=True))


def beside(vectors: Float[Tensor, "head token width"]) -> Float[Tensor, "1 token channel"]:
    """All heads' vectors side by side, as those of a single head."""
    return vectors.transpose(0, 1).flatten(1)[None]


def layer_output(
    mixed: Float[Tensor, "head query width"],
    out_weight: Float[Tensor, "out channel"],
    out_bias: Float[Tensor, " out"] | None = None,
) -> Float[Tensor, "query out"]:
    """The heads side by side, projected: [o_1 … o_h] W_Oᵀ + b."""
    joined = beside(mixed)[0] @ out_weight.T
    return joined if out_bias is None else joined + out_bias


def largest_difference(mine: Float[Tensor, "*any"], theirs: Float[Tensor, "*any"]) -> float:
    """Between numbers that should be equal; infinite where one is not a number."""
    return float((mine - theirs).abs().nan_to_num(nan=math.inf).max())
