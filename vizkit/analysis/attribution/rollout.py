"""Attention rollout: how the tokens of the input reach one token of the output when layers are multiplied.

Abnar & Zuidema 2020 (arXiv 2005.00928), eq. 1: R = Â_L ⋯ Â_1 with Â = ½Ā + ½I, the identity for the residual
connection and Ā the heads fused. One row costs O(L·N²) instead of O(L·N³), and the product is never formed. Rollout
knows no class, and ignores values, MLPs and normalisation.

Through Swin (Liu et al. 2021): windows and shifts by their token ids, patch merging as the mean of its four tokens.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vizkit.analysis.attention.fusion import Fusion, fuse
from vizkit.analysis.attribution.layer_product import (
    Factor,
    Mass,
    Query,
    factors,
    same_token,
    start,
    stream,
    through,
    times,
)
from vizkit.geometry import cell_of
from vizkit.traces import PADDING, Attention, Map, NotApplicable, Tokens, Trace, computed_there, refuse


@dataclass(frozen=True)
class Rollout:
    """Where one query's mass comes from: every place of the input, each special token by name, and padding; together 1.

    `tokens` are those of the input. `query` names the row: "cls", "pool", "mean", "row 3, column 5" …
    """

    mass: Mass
    query: str

    @property
    def tokens(self) -> Tokens:
        return self.mass.tokens

    @property
    def grid(self) -> Map:
        assert self.tokens.grid is not None
        return self.mass.rows[0, len(self.tokens.special) :].unflatten(0, self.tokens.grid)

    @property
    def special(self) -> dict[str, float]:
        return dict(zip(self.tokens.special, self.mass.rows[0].tolist(), strict=False))

    @property
    def padding(self) -> float:
        return float(self.mass.padding[0])


@computed_there
def rollout(
    trace: Trace,
    query: Query = "cls",
    fusion: Fusion = "mean",
    discard: float = 0.0,
    start_layer: int = 0,
    residual: float = 0.5,
) -> Map:
    """Attention rollout (Abnar & Zuidema 2020): the share of every place of the input, ≥ 0, all together 1.

    What special tokens, registers and padding take is left out and the rest divided by its sum; `rollout_masses` tells
    it. `query`: whose row, "cls" (without a class token what the head reads instead), "mean", "dist" or another special
    token, an id, or a cell (row, column), see `layer_product.Query`. `fusion`: mean, max or min over heads. `discard`:
    the smallest share, 0 to below 1, of each layer's fused weights that is set to zero before the identity is added,
    never on the diagonal (after github.com/jacobgil/vit-explain). `start_layer`: attention layers before it count as
    the identity. `residual`: the weight of the identity, 0 to 1; Ā gets the rest. Rows of Â are divided by their sum,
    padding included.

    Raises NotApplicable where the model has no such query, not everything was recorded, or its tokens change between
    layers in a way that attention does not tell; ValueError for numbers out of range.
    """
    return shares(rollout_masses(trace, query, fusion, discard, start_layer, residual).grid)


@computed_there
def rollout_masses(
    trace: Trace,
    query: Query = "cls",
    fusion: Fusion = "mean",
    discard: float = 0.0,
    start_layer: int = 0,
    residual: float = 0.5,
) -> Rollout:
    """As `rollout`, with nothing left out: what places, special tokens and padding take, together 1."""
    ready = _prepared(trace, fusion, discard, start_layer, residual)
    return _rolled(ready, *start([factor.layer for factor in ready], query))


@computed_there
def rollout_by_layer(
    trace: Trace,
    query: Query = "cls",
    fusion: Fusion = "mean",
    discard: float = 0.0,
    start_layer: int = 0,
    residual: float = 0.5,
) -> list[Rollout]:
    """How rollout grows: for every attention layer l from `start_layer` on, the row of Â_l ⋯ Â_1.

    All are on the tokens of the input. A cell means the same point of the image on the grid of layer l. Where a layer
    has no class token yet (class attention at the end), "cls" is the mean of all places.
    """
    ready = _prepared(trace, fusion, discard, start_layer, residual)
    return [_rolled(ready, *begin) for begin in _starts(ready, query, start_layer)]


def _starts(ready: list[Factor], query: Query, start_layer: int) -> list[tuple[int, Float[Tensor, "1 token"], str]]:
    """Of every attention layer from `start_layer` on where the row of the query begins, see `layer_product.start`."""
    layers = [factor.layer for factor in ready]
    last = next(layer.query for layer in reversed(layers) if layer.query.grid)
    if isinstance(query, int) and 0 <= query < len(last):  # ids differ from stage to stage, places and names do not
        query = cell_of(last, query) or last.special[query]
    starts = []
    for end in [i for i, layer in enumerate(layers) if layer.learned][start_layer:]:
        here = next((layer.query.grid for layer in layers[end::-1] if layer.query.grid), None)
        start_query = query
        if isinstance(query, tuple) and here and last.grid:
            start_query = same_place(query, last.grid, here)
        starts.append(start(layers[: end + 1], start_query))
    return starts


@dataclass(frozen=True)
class Terms:
    """The largest terms of the sum that each share of a row is, the largest first: what the query takes from a token
    in the last layer (`taken`) times what that token has of the input's token (`passed`). `through`: ids of `tokens`.
    """

    tokens: Tokens
    through: Int[Tensor, "token term"]
    taken: Float[Tensor, "token term"]
    passed: Float[Tensor, "token term"]


@computed_there
def rollout_terms(
    trace: Trace,
    query: Query = "cls",
    fusion: Fusion = "mean",
    discard: float = 0.0,
    start_layer: int = 0,
    residual: float = 0.5,
    layer: int = -1,
    count: int = 5,
) -> Terms:
    """R = Â_l (Â_(l−1) ⋯ Â_1), entry by entry of the row that `rollout_by_layer` gives at the place `layer`: at most
    `count` terms of each. The work grows with the cube of the tokens."""
    ready = _prepared(trace, fusion, discard, start_layer, residual)
    end, row, _ = _starts(ready, query, start_layer)[layer]
    last = through(ready[end : end + 1], row.float())
    before = Mass(torch.eye(len(last.tokens)).to(last.rows), last.rows.new_zeros(len(last.tokens)), last.tokens)
    for factor in reversed(ready[:end]):
        before = times(before, factor)
    terms = last.rows[0, :, None] * before.rows  # key token
    ids = terms.topk(min(count, len(terms)), dim=0).indices
    return Terms(last.tokens, ids.T, last.rows[0][ids].T, before.rows.gather(0, ids).T)


def same_place(cell: tuple[int, int], of: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    """The cell of the grid `now` in which the centre of a cell of the grid `of` lies."""
    row, column = ((2 * at + 1) * count // (2 * all_of) for at, count, all_of in zip(cell, now, of, strict=True))
    return row, column


@computed_there
def rollout_matrix(
    trace: Trace, fusion: Fusion = "mean", discard: float = 0.0, start_layer: int = 0, residual: float = 0.5
) -> Float[Tensor, "query token"]:
    """All rows of R at once, (tokens of the last layer that has places, tokens of the input), special tokens included.

    Rows sum to 1 but for what padding takes. Costs as many times a single row as there are queries.
    """
    ready = _prepared(trace, fusion, discard, start_layer, residual)
    last = max(i for i, factor in enumerate(ready) if factor.layer.query.grid)
    return through(ready[: last + 1], torch.eye(len(ready[last].layer.query))).rows


def _prepared(trace: Trace, fusion: Fusion, discard: float, start_layer: int, residual: float) -> list[Factor]:
    layers = stream(trace)
    if not 0 <= discard < 1:
        raise ValueError(f"The discarded share is 0 to below 1, not {discard}.")
    return factors(layers, lambda layer: _fused(layer, fusion, discard), residual, 1 - residual, start_layer)


def _fused(layer: Attention, fusion: Fusion, discard: float) -> Float[Tensor, "group query key"] | None:
    """Ā of a layer, None for the plain mean."""
    if fusion == "mean" and not discard:
        return None
    groups, heads, queries, _ = layer.weights.shape
    if fusion != "mean" and heads < layer.heads:
        raise NotApplicable("Only the mean over heads was recorded, so there is no maximum or minimum of them.")
    mixing = fuse(layer.weights.transpose(0, 1).flatten(1, 2), fusion).unflatten(0, (groups, queries)).float()
    return _without_smallest(mixing, layer, discard) if discard else mixing


def _without_smallest(
    mixing: Float[Tensor, "group query key"], layer: Attention, discard: float
) -> Float[Tensor, "group query key"]:
    """The smallest `discard` of all weights between tokens set to zero; equal weights stay or go together."""
    real = (layer.query_ids != PADDING)[:, :, None] & (layer.key_ids != PADDING)[:, None]
    values = mixing[real]
    below = values.kthvalue(int(discard * len(values)) + 1).values
    return mixing.masked_fill(real & (mixing < below) & ~_diagonal(layer), 0.0)


def _diagonal(layer: Attention) -> Bool[Tensor, "group query key"]:
    """Where a query meets itself among the keys."""
    itself = same_token(layer.query, layer.key).to(layer.query_ids.device)[layer.query_ids]
    return itself[:, :, None] == layer.key_ids[:, None]


def _rolled(ready: list[Factor], end: int, row: Float[Tensor, "1 token"], query: str) -> Rollout:
    return Rollout(through(ready[: end + 1], row.float()), query)


def shares(grid: Map) -> Map:
    """Divided by its sum; NotApplicable where there is nothing to divide."""
    total = grid.sum()
    refuse(~(total > 0), "Rollout gives nothing here: no place of the image reaches this token.")
    return grid / total
