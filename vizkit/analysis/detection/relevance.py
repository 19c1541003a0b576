"""Generic relevance of an encoder–decoder: which cells of the image speak for a query's class.

Chefer et al. 2021 (arXiv 2103.15679), §§ 3.1 and 3.2, as their code applies it to DETR. With Ā = mean_h relu(A ⊙ ∇A)
of every layer (eq. 5), in the order of the pass, R_ii = I, R_qq = I and R_qi = 0 at first:

    cells look at cells        R_ii ← R_ii + Ā R_ii                             (eq. 6)
    queries look at queries    R_qq ← R_qq + Ā R_qq,  R_qi ← R_qi + Ā R_qi      (eqs. 6, 7)
    queries look at cells      R_qi ← R_qi + R̄_qqᵀ Ā R̄_ii                       (eq. 10)

R̄ is R whose gain, R − I, has rows that sum to one (eqs. 8, 9): otherwise what many layers of self-attention have
gathered would drown the identity. A row without gain stays the identity's; their code divides 0 by 0 there and sets
what becomes NaN, also in the cells and queries that the product spreads it to, to 0.
"""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.traces import Attention, NotApplicable, Trace, dense

Square = Float[Tensor, "token token"]


def encoder_decoder_relevance(trace: Trace) -> Float[Tensor, "query cell"]:
    """Relevance ≥ 0 of every cell for every query, not normalised; that of the target's query is what is asked for.

    NotApplicable for a trace without a target, or without cross-attention.
    """
    crossing = next((layer for layer in trace.attention if layer.query.name != layer.key.name), None)
    if crossing is None or trace.target is None:
        raise NotApplicable("This relevance needs cross-attention and the class that a query stands for.")
    queries, cells = crossing.query.name, crossing.key.name
    of = {name: torch.eye(len(tokens)) for name, tokens in ((queries, crossing.query), (cells, crossing.key))}
    across = torch.zeros(len(crossing.query), len(crossing.key))
    for layer in trace.attention:
        gained, asking = fused(layer), layer.query.name
        if asking != layer.key.name:
            across = across + with_gain_of_one(of[queries]).T @ gained @ with_gain_of_one(of[cells])
            continue
        if asking == queries:
            across = across + gained @ across
        of[asking] = of[asking] + gained @ of[asking]
    return across


def fused(attention: Attention) -> Float[Tensor, "query key"]:
    """Ā = mean over heads of relu(A ⊙ ∇A): weights that raise the score (eq. 5)."""
    if attention.gradient is None:
        raise NotApplicable(f"{attention.name} was recorded without a gradient.")
    raising = (attention.weights * attention.gradient).clamp(min=0).mean(1, keepdim=True)
    return dense(replace(attention, weights=raising.float(), gradient=None))[0]


def with_gain_of_one(relevance: Square) -> Square:
    """I + (R − I), the rows of R − I divided by their sums (eqs. 8, 9); a row that has gained nothing stays I's."""
    identity = torch.eye(len(relevance))
    gain = relevance - identity
    total = gain.sum(-1, keepdim=True)
    return identity + torch.where(total > 0, gain / total.clamp(min=torch.finfo(gain.dtype).tiny), 0)
