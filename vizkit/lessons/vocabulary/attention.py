"""What a layer of attention does: row by row, head by head, number by number."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from vizkit.analysis.attention import attention_map, statistics
from vizkit.analysis.attention.value_weighted import value_weighted
from vizkit.analysis.attention.walkthrough import steps
from vizkit.geometry import on_grid
from vizkit.lessons.vocabulary.asking import (
    VOCABULARY as VOCABULARY,
)
from vizkit.lessons.vocabulary.asking import (
    At,
    Query,
    asked_of,
    layer_of,
    one_of,
    other,
    parts_of,
    says,
    token_of,
    tokens_of,
    word,
)
from vizkit.lessons.vocabulary.maps import log
from vizkit.lessons.vocabulary.model import probability
from vizkit.traces import Attention, Map, NotApplicable
from vizkit.views.subject import Subject


@word
def attention(of: Subject, layer: At = "last", head: At = "mean", query: Query = "cls", edits: str = "") -> Map:
    """What a query gives every patch in a layer; with what special tokens get, 1 in all."""
    return _row(other(of, edits=edits), layer, head, query)[1].places


@word
def paid_to(of: Subject, token: str = "cls", layer: At = "last", head: At = "mean", query: Query = "cls") -> float:
    """The share of its attention that a query gives a special token."""
    at, row = _row(of, layer, head, query)
    return row.special[at.key.special[token_of(of, at.key, token)]]


def _row(of: Subject, layer: At, head: At, query: Query) -> tuple[Attention, Any]:
    at = layer_of(of, layer)
    return at, attention_map.attention_map(at, asked_of(of, at.query, query), _head(at, head))


def _head(layer: Attention, head: At) -> int | None:
    return None if head == "mean" else one_of(layer.heads, head, "head")


def _pair(of: Subject, layer: At, head: At, query: Query, key: Query) -> tuple[Any, tuple[int, int, int]]:
    """A layer taken apart, and where a pair stands in it: (head, query, key)."""
    at = layer_of(of, layer)
    asks, asked = token_of(of, at.query, query), token_of(of, at.key, key)
    parts = parts_of(of, layer, asks)
    keys = parts.key_ids.tolist()
    if asked not in keys:
        raise NotApplicable("Query and key lie in different windows, so they are never compared.")
    return parts, (_head(at, head) or 0, parts.query_ids.tolist().index(asks), keys.index(asked))


@word
def score(of: Subject, layer: At, head: int, query: Query, key: Query, scaled: bool = True) -> float:
    """q · k, divided by √d_k unless `scaled` is False: what softmax gets, without bias and mask."""
    parts, at = _pair(of, layer, head, query, key)
    return float((parts.scaled if scaled else parts.scores)[at])


def _laid(of: Subject, layer: At, head: int, query: Query, values: Callable[[Any], Tensor]) -> Map:
    """A row of what is made of a layer's parts, on the grid; of a Swin NaN outside its window."""
    parts, (at, row, _) = _pair(of, layer, head, query, query)
    return on_grid(values(parts)[at, row], parts.key_ids, parts.key_tokens)


says(
    "scores",
    "q · k ÷ √d_k with every patch.",
    lambda of, layer, head, query="cls": _laid(of, layer, head, query, lambda its: its.scaled),
)
says(
    "unscaled",
    "Weights without ÷ √d_k.",
    lambda of, layer, head, query="cls": _laid(
        of, layer, head, query, lambda its: steps(its.query, its.key, its.value, 1.0, its.bias).weights
    ),
)
says(
    "contributions",
    "‖α f(x)‖ of all.",
    lambda of, layer, head, query="cls": _laid(
        of, layer, head, query, lambda its: value_weighted(its.weights, its.value, its.out_weight)
    ),
)


@word
def distance(of: Subject, layer: At, head: At = "mean") -> float:
    """How far a patch looks on average, in patches."""
    return _mean(of, layer, head, statistics.mean_distance_px) / (tokens_of(of, layer).stride or 1)


@word
def evenness(of: Subject, layer: At, head: At = "mean") -> float:
    """Entropy of the weights as a share of log N, mean over queries: 0 one key each, 1 all keys alike."""
    return _mean(of, layer, head, statistics.mean_entropy) / math.log(max(2, layer_of(of, layer).shape[-1]))


def _mean(of: Subject, layer: At, head: At, measure: Callable[[Attention], Tensor]) -> float:
    values, at = measure(layer_of(of, layer)), _head(layer_of(of, layer), head)
    return float(values.mean() if at is None else values[min(at, len(values) - 1)])


@word
def head_loss(of: Subject, layer: int, head: int) -> float:
    """What log p of the answer to this image loses when a head adds nothing, in nats; below 0: it gains."""
    _head(layer_of(of, layer), head)
    return log(probability(of)) - log(probability(of, edits=f"heads:{layer}.{head}=0"))


@word
def residual_share(of: Subject, layer: At, query: Query = "cls") -> float:
    """‖branch‖ ÷ (‖before‖ + ‖branch‖): how much attention adds to a token's vector, beside what it had, 0 to 1."""
    parts, (_, row, _) = _pair(of, layer, "mean", query, query)
    if parts.stream is None:
        raise NotApplicable("The residual connection of this layer is not to be seen.")
    before, branch = float(parts.stream.before[row].norm()), float(parts.stream.branch[row].norm())
    return branch / (before + branch)
