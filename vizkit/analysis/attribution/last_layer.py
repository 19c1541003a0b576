"""How much one query attends to each place in the last layer.

Vaswani et al. 2017 (arXiv 1706.03762), eq. 1; as a map in Caron et al. 2021 (arXiv 2104.14294).
"""

import torch

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attribution.layer_product import Query, read_by_head
from vizkit.geometry import id_of
from vizkit.traces import Map, NotApplicable, Tokens, Trace, row_times


def last_layer(trace: Trace, query: Query) -> Map:
    """The mean over heads of the query's weights on each place in the last layer.

    "cls" is the class token or the pool of an attention-pooled model, "cls+dist" the mean of two rows. No other query
    is ever taken in its place.
    """
    learned = layers(trace)
    if not learned:
        raise NotApplicable(f"{trace.no_attention}.")
    last = learned[-1]
    if last.key.grid is None:
        raise NotApplicable("The last layer's keys have no known places, so no map is drawn.")
    ids = _query_ids_of(last.query, query)
    if not set(ids) <= set(last.query_ids.flatten().tolist()):
        raise NotApplicable("The row of this token was not recorded.")
    row = torch.zeros(len(last.query))
    row[ids] = 1 / len(ids)
    first = len(last.key.special)
    attended = row_times(row, last)
    return attended[first : first + last.key.grid[0] * last.key.grid[1]].unflatten(0, last.key.grid)


def applies(trace: Trace) -> None:
    """Raises NotApplicable as `last_layer` does for what the head reads."""
    last_layer(trace, read_by_head(trace))


def _query_ids_of(tokens: Tokens, query: Query) -> list[int]:
    """The tokens whose mean a query is."""
    if isinstance(query, int):
        return [query]
    if isinstance(query, tuple):
        return [id_of(tokens, query)]
    if query == "mean" and tokens.grid:
        return list(range(len(tokens.special), len(tokens.special) + tokens.grid[0] * tokens.grid[1]))
    names = ["pool"] if query == "cls" and tokens.special[:1] == ("pool",) else query.split("+")
    if not set(names) <= set(tokens.special):
        raise NotApplicable("This model has no class token; its head reads the mean of all places.")
    return [tokens.special.index(name) for name in names]
