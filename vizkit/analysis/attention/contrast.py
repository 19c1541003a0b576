"""Which map of attention is the clearest: where a page opens when nobody has chosen a layer, a head and a patch.

The contrast of a map is that of a photograph, the standard deviation of its tones (Peli 1990), here of doublings of an
equal share, after a mean over 3 × 3 places. The divergence from an even row would choose a single bright patch; the
mean asks for regions, and makes one place, such as the query's own or a sink, count little. The highest contrast is
that of an even ground beside an object; so a map counts by what of it lies on the object, and only its patches ask.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate

from vizkit.analysis.attention.attention_map import Query, head_map, layers
from vizkit.geometry import middle_of
from vizkit.traces import Attention, Map, Tokens, Trace

LEAST_TIMES, MOST_TIMES = 0.25, 32.0  # an equal share: the ends of the colours
NEAR = 3  # places
LAST = 3  # a third of the layers are the last ones


class Start(NamedTuple):
    """`layer` and `head` from 1; `query`: the middle of its patch."""

    layer: int
    head: int
    query: Query


def contrast(attention: Attention) -> Float[Tensor, "group head query"] | None:
    """Of the map of every query in every head, in doublings, 0 for an even one; below 0 for what is no patch. Windows
    are maps of their own. None where the keys or the queries have no place."""
    if attention.key.grid is None or attention.query.grid is None:
        return None
    ids, first = attention.key_ids[0], len(attention.key.special)
    at = (ids >= first).nonzero().flatten()
    columns = len(((ids[at] - first) % attention.key.grid[1]).unique())
    if columns == 0 or len(at) % columns:
        return None
    weights = attention.weights[..., at].float()  # group head query place
    doublings = (weights * len(at)).clamp(LEAST_TIMES, MOST_TIMES).log2()
    maps = doublings.reshape(-1, 1, len(at) // columns, columns)
    regions = avg_pool2d(maps, NEAR, stride=1, padding=NEAR // 2, count_include_pad=False)
    tones = regions.flatten(1).std(1, correction=0).reshape(weights.shape[:3])
    is_patch = attention.query_ids >= len(attention.query.special)
    return tones.masked_fill(~is_patch[:, None], -1.0)


def attended(trace: Trace) -> Map | None:
    """Where an object may be, 0 to 1: what the last layers attend to beyond an equal share, in doublings, after a mean
    over 3 × 3 places, so that no sink is taken for an object. None where no layer has a map."""
    maps, shown = list[Tensor](), layers(trace)
    for attention in shown[-max(1, len(shown) // LAST) :]:
        heads = [head_map(attention, head) for head in range(attention.shape[1])]
        maps += [torch.stack([each for each in heads if each is not None]).mean(0)] if heads[0] is not None else []
    if not maps:
        return None
    doublings = [
        (each * each.numel()).clamp(LEAST_TIMES, MOST_TIMES).log2() for each in maps if each.shape == maps[-1].shape
    ]
    regions = avg_pool2d(torch.stack(doublings).mean(0)[None, None], NEAR, stride=1, padding=NEAR // 2)[0, 0].clamp(0)
    return regions / regions.max() if regions.max() > 0 else torch.ones_like(regions)


def clearest(trace: Trace, on: Map, layer: int | None = None, head: int | None = None) -> Start | None:
    """The map with the highest contrast, times the share of it on the object, of all layers, heads and patches, or of
    this layer and this head, from 1; the first of equal ones. `on`: how much every place belongs to the object, 0 to 1;
    only those patches ask that do most. None where no layer has a map."""
    best, start = -1.0, None
    for number, attention in enumerate(layers(trace), 1):
        tones = contrast(attention) if layer in (None, number) else None
        if tones is None:
            continue
        asks, gets = _on(on, attention.query, attention.query_ids), _on(on, attention.key, attention.key_ids)
        share = torch.einsum("ghqk,gk->ghq", attention.weights.float(), (gets > 0).float())
        tones = (tones * share).masked_fill((tones < 0) | (asks < asks.max() - 1e-6)[:, None], -1.0)
        least = 0 if head is None else min(head, tones.shape[1]) - 1
        tones = tones if head is None else tones[:, least : least + 1]
        if float(tones.max()) > best:
            best = float(tones.max())
            group, at, query = (int(place[0]) for place in (tones == tones.max()).nonzero(as_tuple=True))
            token = int(attention.query_ids[group, query])
            start = Start(number, least + at + 1, middle_of(attention.query, token))
    return start


def _on(on: Map, tokens: Tokens, ids: Int[Tensor, "group token"]) -> Float[Tensor, "group token"]:
    """Of every token how likely it belongs to the object; 0 of what has no place."""
    assert tokens.grid is not None
    places = interpolate(on[None, None], tokens.grid, mode="area").flatten()
    at = ids - len(tokens.special)
    return places[at.clamp(min=0)] * (at >= 0)
