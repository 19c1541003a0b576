"""What the heads of a model do on the whole: how far they look, how evenly, and the weight of tokens without a place.

Mean attention distance: Dosovitskiy et al. 2020 (arXiv 2010.11929), fig. 7 right. Works on weights in their groups; no
dense matrix is formed for windows. One number per head is a summary: it does not say where a head looks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers
from vizkit.geometry import on_grid, steps_px
from vizkit.traces import PADDING, Attention, Map, NotApplicable, Tokens, Trace, computed_there


def _is_patch(ids: Int[Tensor, "group position"], tokens: Tokens) -> Bool[Tensor, "group position"]:
    """Which positions hold a token with a place on the grid."""
    first, (rows, columns) = len(tokens.special), tokens.grid or (0, 0)
    return (ids >= first) & (ids < first + rows * columns)


def _centres_px(ids: Int[Tensor, "group position"], tokens: Tokens) -> Float[Tensor, "group position 2"]:
    """(y, x) of the middle of each cell in input pixels; meaningless where `_is_patch` is false."""
    assert tokens.grid is not None
    cell = ids - len(tokens.special)
    return (torch.stack([cell // tokens.grid[1], cell % tokens.grid[1]], -1) + 0.5) * steps_px(tokens).to(ids.device)


@computed_there
def mean_distance_px(attention: Attention) -> Float[Tensor, " head"]:
    """mean_i Σ_j w_ij ‖p_i − p_j‖₂ in input pixels, over patches; 0 for a head that sees only itself.

    Weights to special tokens and to padding are taken out and the rows renormalised; without that, a head that attends
    much to the class token would seem to look near. Rows that attend to no patch are left out; NaN when no row is
    left.
    """
    query, key = attention.query, attention.key
    if not attention.in_one_image:
        raise NotApplicable("Distances need to know where queries and keys lie in one image; this layer does not say.")
    from_patch, to_patch = _is_patch(attention.query_ids, query), _is_patch(attention.key_ids, key)
    distance = torch.cdist(_centres_px(attention.query_ids, query), _centres_px(attention.key_ids, key))
    weights = attention.weights.float() * to_patch[:, None, None]
    total = weights.sum(-1)  # group head query
    travelled = torch.einsum("ghqk,gqk->ghq", weights, distance)
    counted = from_patch[:, None] & (total > 0)
    row = torch.where(counted, travelled / total.clamp(min=torch.finfo(torch.float32).tiny), 0.0)
    return row.sum((0, 2)) / counted.sum((0, 2))


def _over_queries(attention: Attention, rows: Float[Tensor, "group head query"]) -> Float[Tensor, " head"]:
    """Mean over all queries that are tokens; padding is no query."""
    is_token = attention.query_ids != PADDING
    return (rows * is_token[:, None]).sum((0, 2)) / is_token.sum()


@computed_there
def mean_entropy(attention: Attention) -> Float[Tensor, " head"]:
    """H = −mean_i Σ_j w_ij log w_ij in nats, from 0 to log(number of keys that a query compares)."""
    return _over_queries(attention, _entropies(attention.weights.float()))


def _entropies(weights: Float[Tensor, "group head query key"]) -> Float[Tensor, "group head query"]:
    """Of rows. 0 log 0 is 0; torch.special.entr takes four times as long."""
    return -(weights * weights.clamp(min=torch.finfo(torch.float32).tiny).log()).sum(-1)


@computed_there
def entropy_by_place(attention: Attention, head: int | None = None) -> Map | None:
    """H / log N of every patch's own row, 0 (one token) to 1 (evenly over all N keys that it compares), NaN where no
    patch asks; of one head from 0, or the mean of all. None where the queries have no place."""
    if attention.query.grid is None:
        return None
    weights = attention.weights.float()
    weights = weights if head is None else weights[:, [min(head, weights.shape[1] - 1)]]
    compared = (attention.key_ids != PADDING).sum(-1).clamp(min=2).log()
    rows = _entropies(weights).mean(1) / compared[:, None]
    return on_grid(rows.flatten().clamp(0, 1), attention.query_ids.flatten(), attention.query)


@dataclass(frozen=True)
class Layer:
    """One layer, a number for each head (one number where only the mean over heads was recorded).

    `distance_px`: mean attention distance in input pixels, NaN where tokens have no place. `entropy`: H / log N, 0 (one
    token) to 1 (evenly). `effective`: exp(H), the number of tokens that a query attends to. `special`, `padding`,
    `itself`: the share of attention to special tokens by name, to padding, and of a token to itself. `sink`: the
    largest share of all attention that one patch gets.
    """

    name: str
    distance_px: Float[Tensor, " head"]
    entropy: Float[Tensor, " head"]
    effective: Float[Tensor, " head"]
    special: dict[str, Float[Tensor, " head"]]
    padding: Float[Tensor, " head"]
    itself: Float[Tensor, " head"]
    sink: Float[Tensor, " head"]


@computed_there
def most_received(attention: Attention) -> Float[Tensor, " head"]:
    """The largest share of all attention that goes to one patch, 0 to 1: near 1 for a head that looks at the same patch
    from everywhere."""
    is_token = (attention.query_ids != PADDING).float()
    received = torch.einsum("ghqk,gq->hgk", attention.weights.float(), is_token)
    patch = _is_patch(attention.key_ids, attention.key)
    together = received.new_zeros(len(received), len(attention.key) + 1)
    together.index_add_(1, attention.key_ids.clamp(min=0).flatten(), (received * patch).flatten(1))
    return together.amax(1) / is_token.sum()


@computed_there
def paid_to(attention: Attention, ids: Int[Tensor, " token"]) -> Float[Tensor, " head"]:
    """Share of all attention that goes to the key tokens `ids` together, 0 to 1; for instance to outliers in norm."""
    chosen = torch.isin(attention.key_ids, ids.to(attention.key_ids.device))
    return _over_queries(attention, torch.einsum("ghqk,gk->ghq", attention.weights.float(), chosen.float()))


@computed_there
def weight_on_itself(attention: Attention) -> Float[Tensor, " head"]:
    """Share of attention that a token gives itself; 0 where queries and keys are different sets of tokens."""
    if attention.query != attention.key:
        return torch.zeros(attention.weights.shape[1])
    same = attention.query_ids[:, :, None] == attention.key_ids[:, None]
    return _over_queries(attention, torch.einsum("ghqk,gqk->ghq", attention.weights.float(), same.float()))


def layer(attention: Attention) -> Layer:
    """All statistics of one layer."""
    _, heads, _, keys = attention.shape
    entropy = mean_entropy(attention)
    return Layer(
        attention.name,
        mean_distance_px(attention) if attention.in_one_image else torch.full((heads,), math.nan),
        entropy / (math.log(keys) if keys > 1 else 1.0),
        entropy.exp(),
        {name: paid_to(attention, torch.tensor([i])) for i, name in enumerate(attention.key.special)},
        paid_to(attention, torch.tensor([PADDING])),
        weight_on_itself(attention),
        most_received(attention),
    )


def by_layer(trace: Trace) -> tuple[Layer, ...]:
    """The statistics of every layer with learned attention, in the order of the forward pass."""
    statistics = tuple(layer(attention) for attention in layers(trace))
    if not statistics:
        raise NotApplicable(f"{trace.no_attention}; there is nothing to count.")
    return statistics


def spread(images: Sequence[tuple[Layer, ...]]) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """(mean, standard deviation of the sample) over several images of one model; the deviation is 0 for one image.

    Give `by_layer` of each trace, one at a time, so that no more than one trace has to be kept.
    """
    if not images or len({tuple(layer.name for layer in image) for image in images}) != 1:
        raise NotApplicable("A spread needs at least one image, all of them through the same model.")
    together = [_gathered(one) for one in zip(*images, strict=True)]
    return tuple(pair[0] for pair in together), tuple(pair[1] for pair in together)


def _gathered(images: Sequence[Layer]) -> tuple[Layer, Layer]:
    """Mean and deviation of one layer over the images."""

    def reduced(values: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        stacked = torch.stack(list(values))  # image head
        return stacked.mean(0), stacked.std(0, correction=1) if len(stacked) > 1 else torch.zeros_like(stacked[0])

    names = [field.name for field in fields(Layer) if field.name not in ("name", "special")]
    plain = {name: reduced([getattr(one, name) for one in images]) for name in names}
    special = {name: reduced([one.special[name] for one in images]) for name in images[0].special}
    mean, deviation = (
        Layer(
            name=images[0].name,
            special={name: both[i] for name, both in special.items()},
            **{name: both[i] for name, both in plain.items()},
        )
        for i in (0, 1)
    )
    return mean, deviation
