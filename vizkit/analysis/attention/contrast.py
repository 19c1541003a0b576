"""Which map of attention shows most: where a page opens when nobody has chosen a layer, a head and a patch.

The contrast of a map is that of a photograph, the standard deviation of its tones (Peli 1990), here of doublings of an
equal share, after a mean over 3 × 3 places. The divergence from an even row would choose a single bright patch; the
mean asks for regions, and makes one place, such as the query's own or a sink, count little.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import avg_pool2d

from vizkit.analysis.attention.attention_map import Query, layers
from vizkit.geometry import middle_of
from vizkit.traces import Attention, Trace

LEAST_TIMES, MOST_TIMES = 0.25, 32.0  # an equal share: the ends of the colours
NEAR = 3  # places


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


def highest_contrast(trace: Trace, layer: int | None = None, head: int | None = None) -> Start | None:
    """The map with the highest contrast of all layers, heads and patches, or of this layer and this head, from 1; the
    first of equal ones. None where no layer has a map."""
    best, start = -1.0, None
    for number, attention in enumerate(layers(trace), 1):
        tones = contrast(attention) if layer in (None, number) else None
        if tones is None:
            continue
        least = 0 if head is None else min(head, tones.shape[1]) - 1
        tones = tones if head is None else tones[:, least : least + 1]
        if float(tones.max()) > best:
            best = float(tones.max())
            group, at, query = (int(place[0]) for place in (tones == tones.max()).nonzero(as_tuple=True))
            token = int(attention.query_ids[group, query])
            start = Start(number, least + at + 1, middle_of(attention.query, token))
    return start
