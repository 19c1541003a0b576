"""Attention rollout through an encoder and a decoder: which words of the source, and of the target so far, have come
to each place of the target.

Abnar & Zuidema 2020 (arXiv 2005.00928), eq. 1, with two texts as in Chefer et al. 2021 (arXiv 2103.15679), § 3.1: rows
of the target lie over the tokens of both. Every layer mixes half of a token with half of what it looks at, the identity
for the residual connection; cross-attention brings what the encoder's rows already are.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.fusion import Fusion, fuse
from vizkit.traces import Attention, NotApplicable, Trace, dense


@dataclass(frozen=True)
class Origins:
    """Where every place of the target comes from: the words of the source and of the target, together 1 in each row.

    `encoder`: the same of the encoder's output over the source, rows sum to 1.
    """

    encoder: Float[Tensor, "source_place source"]
    source: Float[Tensor, "target_place source"]
    target: Float[Tensor, "target_place target"]


def origins(trace: Trace, fusion: Fusion = "mean", residual: float = 0.5) -> Origins:
    """The rollout of a translation. `fusion`: mean, max or min over heads; `residual`: the weight of the identity, 0
    to 1, and the weights of attention get the rest.

    Raises NotApplicable where there is no text that looks at another one, ValueError for a weight out of range.
    """
    if not 0 <= residual <= 1:
        raise ValueError(f"The weight of the identity is 0 to 1, not {residual}.")
    cross = next((layer for layer in trace.attention if layer.query.name != layer.key.name), None)
    if cross is None:
        raise NotApplicable(f"{trace.model} has no cross-attention, so no path leads from a target to a source.")
    encoder, source = torch.eye(len(cross.key)), torch.zeros(len(cross.query), len(cross.key))
    target = torch.eye(len(cross.query))
    for layer in trace.attention:
        mixing = (1 - residual) * _rows(layer, fusion)
        if layer.query.name == layer.key.name == cross.key.name:
            encoder = residual * encoder + mixing @ encoder
        elif layer.query.name == layer.key.name:
            source, target = residual * source + mixing @ source, residual * target + mixing @ target
        else:
            source, target = residual * source + mixing @ encoder, residual * target
    return Origins(encoder, source, target)


def _rows(layer: Attention, fusion: Fusion) -> Float[Tensor, "query key"]:
    """Weights of all heads as one matrix whose rows sum to 1."""
    fused = fuse(dense(layer).float(), fusion)
    return fused / fused.sum(-1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
