"""Where one token looks: a row of an attention matrix, laid back on the grid of its keys.

The raw weights of Vaswani et al. 2017, eq. 1. They say how a layer mixes its tokens, not what the model finds important
for its answer (Jain & Wallace 2019).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.geometry import id_at, middle_of
from vizkit.traces import Attention, Map, NotApplicable, Tokens, Trace, computed_there, query_row, row_times

Query = str | tuple[float, float]
"""The name of a special token, or a point in fractions (x, y) of the model's input."""


@dataclass(frozen=True)
class AttentionMap:
    """What one query attends to: every place, each special token by name, and padding. All together 1.

    `fallback` is true when the layer has no such query and another one is shown.
    """

    places: Map
    special: dict[str, float]
    padding: float
    query_id: int
    fallback: bool


def layers(trace: Trace) -> tuple[Attention, ...]:
    """The layers with learned attention, in the order of the forward pass."""
    return tuple(a for a in trace.attention if a.learned)


def windows_of(trace: Trace, tokens: Tokens) -> set[tuple[int, int] | None]:
    """Inside how many rows and columns of `tokens` the layers between them attend; None where one attends to all."""
    first, columns = len(tokens.special), (tokens.grid or (1, 1))[1]
    found: set[tuple[int, int] | None] = set()
    for layer in layers(trace):
        if layer.query.name == tokens.name and layer.key.name == tokens.name:
            places = [group[group >= first] - first for group in layer.key_ids]
            sides = [(len((of // columns).unique()), len((of % columns).unique())) for of in places]
            found.add(max(sides) if len(sides) > 1 else None)
    return found


def find_query(attention: Attention, query: Query) -> tuple[int, bool]:
    """(id of the query token, whether another one had to be taken because this layer has no such query).

    A layer without this special token shows its first query; one with special queries only (class attention,
    pooling) shows the first of them for every point.
    """
    kept: list[int] = attention.query_ids[attention.query_ids >= 0].unique().tolist()
    if isinstance(query, str):
        if query in attention.query.special:
            token_id = attention.query.special.index(query)
            return (token_id, False) if token_id in kept else (kept[0], True)
        middle = id_at(attention.query, (0.5, 0.5))
        return (middle if middle is not None and middle in kept else kept[0]), True
    token_id = id_at(attention.query, query)
    return (token_id, False) if token_id is not None and token_id in kept else (kept[0], True)


def attention_map(attention: Attention, query: Query, head: int | None = None) -> AttentionMap:
    """The map of one query in one head, or in the mean of all heads. Raises NotApplicable where keys have no place."""
    if attention.key.grid is None:
        raise NotApplicable(
            "This layer mixes channels, so it looks nowhere in the image."
            if attention.key.name == "channels"
            else "Where the keys of this layer lie in the image is not known, so no map is drawn."
        )
    query_id, fallback = find_query(attention, query)
    rows = query_row(attention, query_id)  # head key
    row = rows.mean(0) if head is None else rows[min(head, len(rows) - 1)]
    first = len(attention.key.special)
    height, width = attention.key.grid
    special = {name: float(row[i]) for i, name in enumerate(attention.key.special)}
    places = row[first : first + height * width].reshape(height, width)
    return AttentionMap(places, special, max(0.0, 1.0 - float(row.sum())), query_id, fallback)


def all_heads(trace: Trace, query: Query) -> list[Float[Tensor, "head row column"] | None]:
    """For every layer the map of the query in every head; None where the keys have no place in the image."""
    maps: list[Tensor | None] = []
    for attention in layers(trace):
        if attention.key.grid is None:
            maps.append(None)
            continue
        query_id, _ = find_query(attention, query)
        first = len(attention.key.special)
        rows = query_row(attention, query_id)[:, first : first + attention.key.grid[0] * attention.key.grid[1]]
        maps.append(rows.unflatten(1, attention.key.grid))
    return maps


@computed_there
def fused(
    attention: Attention, head: int | None, query: tuple[int, int] | None = None
) -> Float[Tensor, "group query key"]:
    """The weights of one head, or their mean over heads, in the layer's own groups; of one `query` alone, at its group
    and its place there, where that is given."""
    group, place = (slice(None),) * 2 if query is None else (slice(at, at + 1) for at in query)
    weights = attention.weights[group, :, place].float()
    return weights.mean(1) if head is None else weights[:, min(head, weights.shape[1] - 1)]


def head_map(attention: Attention, head: int) -> Map | None:
    """Where the first special token looks in one head, else where all tokens look on average; shares of the whole. None
    where the keys have no place in the image."""
    if attention.key.grid is None:
        return None
    if attention.query.special:
        return attention_map(attention, attention.query.special[0], head).places
    heads = attention.shape[1]
    return received(attention, torch.nn.functional.one_hot(torch.tensor(min(head, heads - 1)), heads).float())


def received(attention: Attention, head_weights: Float[Tensor, " head"] | None = None) -> Map | None:
    """How much attention every place gets from all queries on average, special ones too: shares of the whole, of which
    special tokens have the rest. In the mean of the heads, or their weighted sum. None where keys have no place."""
    if attention.key.grid is None:
        return None
    queries, first, (rows, columns) = len(attention.query), len(attention.key.special), attention.key.grid
    every = row_times(torch.full((queries,), 1 / queries), attention, head_weights)
    return every[first : first + rows * columns].reshape(rows, columns)


def most_attended(trace: Trace) -> tuple[float, float] | None:
    """The middle, in fractions (x, y) of the model's input, of the patch that the last layer attends to most in the
    mean of its heads: from its first special token, else from all tokens on average. None where keys have no place."""
    last = layers(trace)[-1]
    maps = [head_map(last, head) for head in range(last.shape[1])]
    if maps[0] is None:
        return None
    mean = torch.stack([each for each in maps if each is not None]).mean(0)
    return middle_of(last.key, len(last.key.special) + int(mean.argmax()))
