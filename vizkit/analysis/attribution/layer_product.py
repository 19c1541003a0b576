"""Rows of a product of layers, one vector–matrix product after another, last layer first.

What rollout and relevance share: which layers form one stream of tokens, where the row of the query starts, and how
mass moves through one layer. A layer is Â = identity · I + share · Ā, kept in the groups in which it was computed, so
that Swin's windows, shifts and merging cost no dense matrix. The residual connection exists only for queries that are
keys of the same layer: merging and attention pooling have none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers as learned_layers
from vizkit.geometry import id_of, name_of
from vizkit.traces import PADDING, Attention, NotApplicable, Tokens, Trace

Query = str | int | tuple[int, int]
"""Whose row is computed.

- "cls": the class token; in a model without one what its head reads instead, the attention pool or the mean of all
  places. "mean": the mean of all places. "dist", "reg1", "pool": another special token; "cls+dist": the mean of two.
- an id, or a cell (row, column), of the last layer whose tokens have places.
"""


FEW = 8
"""Where less than one query in so many holds mass, their rows are picked instead of multiplying all."""


@dataclass(frozen=True)
class Factor:
    """One layer of the product. `mixing` is Ā; None is the plain mean over heads, which is then never formed.

    `normalise`: divide every row of Â by its sum, padding included.
    """

    layer: Attention
    mixing: Float[Tensor, "group query key"] | None
    identity: float
    share: float
    normalise: bool


@dataclass(frozen=True)
class Mass:
    """Some rows of the product so far: what lies on each token, and what padding took on the way. `held`: the tokens
    that can hold mass, as the windows alone say it, on the CPU."""

    rows: Float[Tensor, "row token"]
    padding: Float[Tensor, " row"]
    tokens: Tokens
    held: Bool[Tensor, " token"] | None = None


def stream(trace: Trace) -> list[Attention]:
    """The layers through which the last tokens can be followed to the input, in the order of the forward pass.

    Layers of tokens by another name, TNT's words or a second stream, are left out. Raises NotApplicable where tokens
    cannot be followed.
    """
    learned = learned_layers(trace)
    if not learned:
        raise NotApplicable(f"{trace.no_attention}; there is nothing to multiply.")
    if len(learned) < trace.check.layers_found:
        raise NotApplicable("Some layers were not recorded; multiplying layers needs all of them.")
    followed: list[Attention] = []
    now: Tokens | None = None  # the tokens with places that have been reached
    for layer in reversed(trace.attention):
        query, key = layer.query, layer.key
        if query.free or key.free:
            raise NotApplicable(
                f"In {layer.name} it is not tokens with known places that attend, so no path leads back."
            )
        if " · " in layer.name:  # vizkit.models.families.translate.names_of
            raise NotApplicable("Layers of this model have several maps, which are no matrices to multiply.")
        if query.grid and now and query.name != now.name:
            continue
        if layer.learned and query.grid and key.grid and query.name != key.name:
            raise NotApplicable(
                "One text or image looks at another here, so a single stream of tokens does not lead back."
            )
        if (query.grid and now and query.grid != now.grid) or (layer.learned and query.grid and query.grid != key.grid):
            raise NotApplicable(
                "Between its layers this model changes its tokens in a way that attention does not tell."
            )
        if int((layer.query_ids != PADDING).sum()) < len(query):
            raise NotApplicable("Only some rows were recorded; multiplying layers needs all of them.")
        followed.append(layer)
        now = key if key.grid else now
    if now is None:
        raise NotApplicable("The tokens of this model have no known places, so no map is drawn.")
    return followed[::-1]


def read_by_head(trace: Trace) -> Query:
    """The query whose vector becomes the logits, as `start` understands it."""
    last = next((layer for layer in reversed(trace.attention) if layer.learned), None)
    return "cls+dist" if last and {"cls", "dist"} <= set(last.query.special) else "cls"


def start(layers: Sequence[Attention], query: Query) -> tuple[int, Float[Tensor, "1 token"], str]:
    """(position of the last layer that has the query, its row before that layer, what was really taken)."""
    last = next((i for i in reversed(range(len(layers))) if layers[i].query.grid), len(layers) - 1)
    if isinstance(query, str) and query != "mean":
        names = query.split("+")
        for i in reversed(range(len(layers))):
            special = layers[i].query.special
            if set(names) <= set(special):
                return i, spike(layers[i].query, [special.index(name) for name in names]), query
        end = layers[-1].query
        if query != "cls":
            raise NotApplicable(f"This model has no {' and '.join(names)} token; choose another query.")
        if not end.grid and end.special:
            return len(layers) - 1, spike(end, [0]), end.special[0]
        query = "mean"
    tokens = layers[last].query
    first = len(tokens.special)
    if query == "mean":
        if not tokens.grid:
            raise NotApplicable("The queries of this model have no places, so there is no mean of them.")
        return last, spike(tokens, list(range(first, first + tokens.grid[0] * tokens.grid[1]))), "mean"
    one = query if isinstance(query, int) else id_of(tokens, query)  # pyright: ignore[reportArgumentType]
    if not 0 <= one < len(tokens):
        raise ValueError(f"Token {one} does not exist: there are {len(tokens)}.")
    return last, spike(tokens, [one]), name_of(tokens, one)


def applies(trace: Trace) -> None:
    """Raises NotApplicable where layers cannot be multiplied for what the head reads."""
    start(stream(trace), read_by_head(trace))


def spike(tokens: Tokens, ids: list[int]) -> Float[Tensor, "1 token"]:
    """Mass 1, shared evenly by some tokens."""
    row = torch.zeros(1, len(tokens), dtype=torch.float64)
    row[0, ids] = 1 / len(ids)
    return row


def factors(
    layers: Sequence[Attention],
    mixing: Callable[[Attention], Tensor | None],
    identity: float,
    share: float,
    start_layer: int = 0,
    normalise: bool = True,
) -> list[Factor]:
    """Â of every layer: the identity for attention layers before `start_layer`, fixed pooling as it is.

    `mixing` gives Ā of a layer. ValueError where there is no such `start_layer`, or the identity is no share.
    """
    count, index, product_factors = sum(layer.learned for layer in layers), 0, []
    if not 0 <= start_layer < count:
        raise ValueError(f"There is no layer {start_layer}: there are {count}, counted from 0.")
    if not 0 <= identity <= 1:
        raise ValueError(f"The weight of the identity is 0 to 1, not {identity}.")
    for layer in layers:
        if not layer.learned:
            product_factors.append(Factor(layer, None, 0.0, 1.0, False))
            continue
        early, index = index < start_layer, index + 1
        # A query that is no key has no identity to fall back on: such a layer is never left out.
        early = early and bool((same_token(layer.query, layer.key) >= 0).all())
        product_factors.append(
            Factor(layer, None, 1.0, 0.0, False) if early else Factor(layer, mixing(layer), identity, share, normalise)
        )
    return product_factors


def through(factors: Sequence[Factor], rows: Float[Tensor, "row token"]) -> Mass:
    """`rows` · Â_last ⋯ Â_first; the rows are over the queries of the last factor."""
    rows = rows.to(factors[-1].layer.weights.device)
    mass = Mass(rows, rows.new_zeros(len(rows)), factors[-1].layer.query, rows.any(0).cpu())
    for factor in reversed(factors):
        mass = times(mass, factor)
    return mass


def times(mass: Mass, factor: Factor) -> Mass:
    """Mass · Â. What lies on tokens that are no query in this layer stays where it is."""
    if not factor.share and not factor.normalise:  # the identity
        return mass
    layer, rows, held = factor.layer, mass.rows, mass.held
    if layer.in_order and layer.query == layer.key == mass.tokens:
        return _in_order(mass, factor)
    asked, own = same_token(layer.query, mass.tokens), same_token(layer.query, layer.key)
    held = rows.any(0).cpu() if held is None else held
    taken, holding = picked(rows, asked, spare=1), picked(held, asked, spare=1)
    identity = torch.cat([(own >= 0) * factor.identity, torch.zeros(1)]).to(rows)
    share = torch.cat([torch.where(own >= 0, factor.share, 1.0), torch.zeros(1)]).to(rows)
    if factor.normalise:
        total = identity + share * row_sums(factor).to(rows)
        taken = torch.where(total > 0, taken / total.where(total > 0, torch.ones_like(total)), 0.0)
    out = spread(taken * share, factor, holding)
    own = same_token(layer.key, layer.query)
    keys = out[:, :-1] + picked((taken * identity)[:, :-1], own)
    tokens = joined(layer, mass.tokens)
    to_key, before = same_token(tokens, layer.key), same_token(tokens, mass.tokens)
    stays = same_token(mass.tokens, layer.query) < 0
    moved = picked(keys, to_key) + picked(rows * stays.to(rows.device), before)
    if not bool(held.all()):
        reached = reached_by(holding, layer) | picked(holding[:-1], own)
        held = picked(reached, to_key) | picked(held & stays, before)
    else:
        held = held.new_ones(len(tokens))
    return Mass(moved, mass.padding + out[:, -1], tokens, held)


def _in_order(mass: Mass, factor: Factor) -> Mass:
    """The same where all tokens look at all of them, row by row: no id has to be followed."""
    rows, mixing, heads = mass.rows, factor.mixing, factor.layer.weights[0]  # head query key
    taken = rows
    if factor.normalise and mixing is None:  # recorded means of heads sum to 1
        taken = rows / (factor.identity + factor.share)
    elif factor.normalise and mixing is not None:
        total = (factor.identity + factor.share * mixing[0].sum(-1)).to(rows)
        taken = torch.where(total > 0, rows / total.where(total > 0, torch.ones_like(total)), 0.0)
    held = rows.any(0).cpu() if mass.held is None else mass.held
    few = held.nonzero()[:, 0] if FEW * int(held.sum()) < len(held) else None
    if mixing is not None:
        out = taken @ mixing[0].to(rows)
    elif few is not None and len(rows) == 1:  # one token's row: the rest is not read
        out = taken[:, few] @ heads[:, few].to(rows.dtype).mean(0)
    elif len(rows) == 1:
        out = (taken / len(heads)).expand(len(heads), -1).reshape(1, -1) @ heads.to(rows.dtype).flatten(0, 1)
    else:
        out = taken @ heads.to(rows.dtype).mean(0)
    return Mass(taken * factor.identity + out * factor.share, mass.padding, mass.tokens, torch.ones_like(held))


def picked(values: Shaped[Tensor, "*row token"], ids: Int[Tensor, " id"], spare: int = 0) -> Shaped[Tensor, "*row _"]:
    """What lies on the tokens `ids`, and nothing where an id is −1; `spare` columns of nothing more at the end."""
    nothing = values.new_zeros(*values.shape[:-1], 1)
    return torch.cat([values, nothing], -1)[..., torch.cat([ids, ids.new_full((spare,), -1)])]


def reached_by(holding: Bool[Tensor, " query_or_padding"], layer: Attention) -> Bool[Tensor, " key"]:
    """The keys of every group in which a query holds mass."""
    groups = holding[layer.query_ids.cpu()].any(1)
    reached = torch.zeros(len(layer.key) + 1, dtype=torch.bool)
    reached[layer.key_ids.cpu()[groups]] = True  # PADDING picks the last
    return reached[:-1]


def row_sums(factor: Factor) -> Float[Tensor, " query_or_padding"]:
    """The sum of every query's row of Ā, by id, and a last zero; recorded means of heads sum to 1."""
    layer = factor.layer
    sums = torch.ones(len(layer.query) + 1)
    if factor.mixing is not None:
        sums = sums.to(factor.mixing).index_put((layer.query_ids.flatten(),), factor.mixing.sum(-1).flatten())
    return torch.cat([sums[:-1], sums.new_zeros(1)])


def spread(
    taken: Float[Tensor, "row query_or_padding"],
    factor: Factor,
    holding: Bool[Tensor, " query_or_padding"] | None = None,
) -> Float[Tensor, "row key_or_padding"]:
    """`taken` · Ā, group by group; the last column collects what goes to padding. `holding`: the queries that can hold
    something, those that do where it is left out."""
    layer, keys = factor.layer, len(factor.layer.key)
    grouped = taken[:, layer.query_ids].transpose(0, 1)  # group row query
    out = taken.new_zeros(len(taken), keys + 1)
    single = factor.mixing is None and len(taken) == 1
    asks = (taken.any(0).cpu() if holding is None else holding)[layer.query_ids.cpu()] if single else None
    if asks is not None and FEW * int(asks.sum()) < asks.numel():  # one token's row, or one window: only that is read
        group, position = asks.nonzero(as_tuple=True)
        passed = layer.weights[group, :, position].to(taken.dtype).mean(1) * grouped[group, 0, position, None]
        return out.index_add(1, (layer.key_ids[group] % (keys + 1)).flatten(), passed.reshape(1, -1))
    if single:
        heads = layer.weights.shape[1]
        weights = layer.weights.to(taken.dtype).flatten(1, 2)  # group head·query key
        passed = grouped.repeat(1, 1, heads) / heads @ weights
    else:
        passed = grouped @ (layer.weights.to(taken.dtype).mean(1) if factor.mixing is None else factor.mixing.to(taken))
    return out.index_add(1, layer.key_ids.flatten() % (keys + 1), passed.transpose(0, 1).flatten(1))


@lru_cache(256)
def same_token(source: Tokens, target: Tokens) -> Int[Tensor, " token"]:
    """For every id of `source` the id of the same token in `target`, −1 where there is none."""
    special = [target.special.index(name) if name in target.special else -1 for name in source.special]
    rows, columns = source.grid or (0, 0)
    places = torch.arange(rows * columns) + len(target.special)
    if source.grid != target.grid:
        places = torch.full_like(places, -1)
    return torch.cat([torch.tensor(special, dtype=torch.long), places])


def joined(layer: Attention, before: Tokens) -> Tokens:
    """The keys of a layer and, besides, the special tokens and places that are no query in it."""
    key, gone = layer.key, {*layer.key.special, *layer.query.special}
    special = (*key.special, *(name for name in before.special if name not in gone))
    home = key if key.grid else before
    return replace(home, special=special, free=0)
