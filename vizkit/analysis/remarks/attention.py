"""What stands out in attention weights: of one query in one layer, of a head over all queries, and with depth."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.attention_map import Query, attention_map, find_query, fused, layers
from vizkit.analysis.attention.statistics import Layer, mean_entropy, paid_to, weight_on_itself
from vizkit.analysis.remarks.places import EVEN, MOST, OWN, Seen, half_of
from vizkit.analysis.remarks.remark import begun, counted, percent
from vizkit.geometry import cell_of, steps_px
from vizkit.traces import Attention, Tokens, Trace, computed_there, dense, query_row

SINK = 0.3  # of all attention of a head: so much on one patch is no look around
FARTHER = 1.5  # times as far in the last layer as in the first, or the other way round
MOST_WEIGHTS = 300_000  # of one layer, of which all queries are counted in a few ms

TOKENS = {"cls": "the class token", "dist": "the distillation token", "pool": "the pooling token"}


def called(name: str) -> str:
    """A special token in a sentence: "the class token", "the token [reg1]"."""
    return TOKENS.get(name, f"the token [{name}]")


def named(layer: int, head: int | None, heads: int) -> str:
    """ "Head 2 of layer 5", "The mean of 4 heads of layer 5", "Layer 5"; `layer` from 1, `head` from 0."""
    if heads == 1:
        return f"Layer {layer}"
    return f"The mean of {heads} heads of layer {layer}" if head is None else f"Head {head + 1} of layer {layer}"


def of_map(
    attention: Attention, query: Query, layer: int, head: int | None, covered: Float[Tensor, "row column"] | None = None
) -> str | None:
    """The row that a card shows: the first of these rules that holds. `covered`: how much of every place a drawn insect
    covers, where that is known."""
    if attention.key.grid is None:
        return None
    query_id, _ = find_query(attention, query)
    rows = query_row(attention, query_id)
    row = rows.mean(0) if head is None else rows[min(head, len(rows) - 1)]
    return _of_rows(attention, {query_id: 0}, row[None], layer, head, covered).get(query_id)


def of_rows(
    attention: Attention, layer: int, head: int | None, covered: Float[Tensor, "row column"] | None = None
) -> dict[int, str]:
    """The same for every query that was recorded, by its id. None of them where the weights are too many."""
    if attention.key.grid is None or len(attention.query) * len(attention.key) > MOST_WEIGHTS:
        return {}
    rows = _fused_rows(attention, head)
    kept: list[int] = attention.query_ids[attention.query_ids >= 0].unique().tolist()
    return _of_rows(attention, {query: query for query in kept}, rows, layer, head, covered)


def _of_rows(
    attention: Attention,
    queries: dict[int, int],
    rows: Float[Tensor, "query key"],
    layer: int,
    head: int | None,
    covered: Float[Tensor, "row column"] | None,
) -> dict[int, str]:
    """`queries`: where in `rows` each of them stands."""
    tokens, whose = attention.query, named(layer, head if attention.shape[1] > 1 else None, attention.heads)
    seen, found = Seen.of(attention.key, rows, covered, _others(attention.key)), dict[int, str]()
    for query, at in queries.items():
        cell, who = cell_of(tokens, query), _asks(tokens, query)
        own = cell if tokens == attention.key else None
        said = (
            seen.one_place(at, own, who)
            or ((said := seen.on_insect(at, f"{who}'s attention to patches")) and said + seen.leads(at, who))
            or ((said := seen.shape(at, own)) and said + seen.leads(at, who))
            or seen.even(at, attention.shape[-1])
        )
        if said is not None:
            found[query] = f"{whose}: {said.format(who=who)}."
    return found


def how_widely(attention: Attention, layer: int, head: int | None) -> dict[int, str]:
    """On how many patches half of the attention to patches lies, for every query that was recorded, by its id: where
    nothing else stands out in its row. None of them where the weights are too many."""
    grid, tokens = attention.key.grid, attention.query
    if grid is None or len(tokens) * len(attention.key) > MOST_WEIGHTS:
        return {}
    whose = named(layer, head if attention.shape[1] > 1 else None, attention.heads)
    first, count, found = len(attention.key.special), math.prod(grid), dict[int, str]()
    rows = _fused_rows(attention, head)
    halves, seen = half_of(rows[:, first : first + count]), Seen.of(attention.key, rows, None, _others(attention.key))
    kept: list[int] = attention.query_ids[attention.query_ids >= 0].unique().tolist()
    for query in kept:
        who = _asks(tokens, query)
        if half := int(halves[query]):
            most = seen.leads(query, who)
            found[query] = f"{whose}: half of {who}'s attention to patches lies on {half} of {count}{most}."
    return found


def _others(key: Tokens) -> list[str]:
    """What may get attention beside the patches."""
    return [*map(called, key.special), "padding"]


def _asks(tokens: Tokens, query: int) -> str:
    if query < len(tokens.special):
        return called(tokens.special[query])
    return "this patch" if cell_of(tokens, query) else "this token"


def _fused_rows(attention: Attention, head: int | None) -> Float[Tensor, "query key"]:
    return dense(replace(attention, weights=fused(attention, head)[:, None], gradient=None))[0]


@computed_there
def of_head(attention: Attention, layer: int, head: int | None) -> str | None:
    """A head over all queries; None where nothing stands out, only some rows were kept, or they are too many."""
    recorded = attention.weights.shape[1]
    if head is not None:  # what the other heads do need not be counted
        kept = min(head, recorded - 1)
        weights = attention.weights[:, kept : kept + 1]
        attention = replace(attention, weights=weights, gradient=None, heads=attention.heads)
    if attention.weights.numel() > MOST_WEIGHTS or attention.query_ids.unique().numel() < len(attention.query):
        return None
    whose = named(layer, head if recorded > 1 else None, attention.heads)
    itself = float(weight_on_itself(attention).mean())
    if itself >= OWN and len(attention.key) > 1 / OWN:
        return f"{whose} looks at its own patch: {percent(itself)} on the diagonal of all queries."
    for token, name in enumerate(attention.key.special):
        if (share := float(paid_to(attention, torch.tensor([token])).mean())) >= MOST:
            return f"{whose} gives {percent(share)} of the attention of all queries to {called(name)}."
    even = float(mean_entropy(attention).mean()) / math.log(max(attention.weights.shape[-1], 2))
    if even >= EVEN:
        return f"{whose} attends almost evenly for all queries: its entropy is {percent(even)} of the largest."
    return None


# ---- with depth ------------------------------------------------------------------------------------------------------
def with_depth(trace: Trace, query: Query) -> str | None:
    """How far a patch attends in the first layer and in the last, on average over heads; None for other queries, and
    where it is about as far."""
    if isinstance(query, str):
        return None
    reach = [_reach_px(attention, query) for attention in layers(trace)]
    measured = [(number, px) for number, px in enumerate(reach, 1) if px is not None]
    if len(measured) < 2:
        return None
    (first, near), (last, far) = measured[0], measured[-1]
    if max(near, far) < FARTHER * min(near, far) or max(near, far) <= 0:
        return None
    return (
        f"What this patch attends to lies {counted(round(near), 'pixel')} away on average in layer {first}, {far:.0f} "
        f"in layer {last}."
    )


def _reach_px(attention: Attention, query: Query) -> float | None:
    """Mean distance from the query's place to what it attends to, in pixels of the input; special tokens left out."""
    if attention.key.grid is None:
        return None
    seen = attention_map(attention, query)
    cell = cell_of(attention.query, seen.query_id)
    total = float(seen.places.sum())
    if cell is None or total <= 0:
        return None
    start = (torch.tensor(cell) + 0.5) * steps_px(attention.query)
    return float((seen.places * (_centres(attention.key) - start).norm(dim=-1)).sum()) / total


def _centres(tokens: Tokens) -> Float[Tensor, "row column 2"]:
    assert tokens.grid is not None
    cells = torch.stack(torch.meshgrid(*map(torch.arange, tokens.grid), indexing="ij"), -1)
    return (cells + 0.5) * steps_px(tokens)


# ---- all heads -------------------------------------------------------------------------------------------------------
def extremes(statistics: tuple[Layer, ...]) -> str | None:
    """The head that attends nearest and the one that attends farthest, of heads that have a distance and are no sinks;
    or that they differ little."""
    every = [
        (float(px), head, layer, sink)
        for layer, each in enumerate(statistics, 1)
        for head, (px, sink) in enumerate(zip(each.distance_px.tolist(), each.sink.tolist(), strict=True), 1)
        if math.isfinite(px)
    ]
    heads = [(px, head, layer) for px, head, layer, sink in every if sink < SINK]
    if len(heads) < 2:
        return None
    (near, *local), (far, *wide) = min(heads), max(heads)
    closest, farthest = counted(round(near), "pixel"), counted(round(far), "pixel")
    between = farthest if closest == farthest else f"{near:.0f} to {farthest}"
    if far < FARTHER * near:
        return f"Heads differ little in distance: {between} on average."
    px, head, layer, sink = max(every)
    aside = f"; head {head} of layer {layer} gives {percent(sink)} of its attention to one patch, and is left out"
    return (
        f"Most local is head {local[0]} of layer {local[1]}, which attends {closest} away on average; most global is "
        f"head {wide[0]} of layer {wide[1]}, {farthest} away{aside if px > far else ''}."
    )


WIDE, NARROW = 0.2, 0.1  # shares of the patches on which half of a row lies: of one that looks even, of a clear one


def clearest(
    shown: Float[Tensor, "row column"],
    every: Sequence[Float[Tensor, "_head _row _column"] | None],
    cell: tuple[int, int] | None,
) -> str | None:
    """Where a mean of heads is nearly even: the head of the deeper half of the layers in whose map half of the
    attention to patches lies on the fewest. `every`: the maps of all layers. Left out are heads that give patches less
    than half, that give half to one of them, and that look most at the query's own place, `cell`, or beside it. None
    where the map is not even, or no head is clear."""
    if int(half_of(shown.flatten())) <= WIDE * shown.numel():
        return None
    found = [
        (int(half), layer, head, maps[0].numel())
        for layer, maps in enumerate(every, 1)
        if maps is not None and layer > len(every) / 2
        for head, (half, places) in enumerate(zip(half_of(maps.flatten(1)).tolist(), maps, strict=True), 1)
        if half > 1 and float(places.sum()) >= 0.5 and not _beside(places, cell)
    ]
    half, layer, head, count = min(found, default=(1, 0, 0, 1))
    if half > NARROW * count:
        return None
    return f"Clearer is head {head} of layer {layer}, where half lies on {half} of {count}."


def _beside(places: Float[Tensor, "row column"], cell: tuple[int, int] | None) -> bool:
    most = divmod(int(places.argmax()), places.shape[1])
    return cell is not None and max(abs(most[0] - cell[0]), abs(most[1] - cell[1])) < 2


def evenness(entropy: Float[Tensor, "row column"], layer: int, head: int) -> str:
    """How evenly the patches attend in one head, `layer` from 1, `head` from 0; `entropy`: 0 to 1, NaN of places that
    do not ask."""
    patches = entropy[entropy.isfinite()]
    least, most = (percent(float(end)) for end in (patches.min(), patches.max()))
    return (
        f"Head {head + 1} of layer {layer}: a patch's attention has {percent(float(patches.mean()))} of the largest "
        f"entropy on average, from {least} to {most}."
    )


def evenest(statistics: tuple[Layer, ...]) -> str | None:
    """The heads that attend least and most evenly, or that none stands out; None of a single head."""
    heads = [
        (share, head, layer)
        for layer, each in enumerate(statistics, 1)
        for head, share in enumerate(each.entropy.tolist(), 1)
    ]
    if len(heads) < 2:
        return None
    (low, *sharp), (high, *even) = min(heads), max(heads)
    if percent(low) == percent(high):
        return f"All heads attend about equally evenly, with {percent(low)} of the largest entropy."
    return (
        f"Least even is head {sharp[0]} of layer {sharp[1]}, with {percent(low)} of the largest entropy; most even "
        f"is head {even[0]} of layer {even[1]}, with {percent(high)}."
    )


def most_given(by_layer: Sequence[Float[Tensor, " head"]], to: str) -> str | None:
    """The head that gives most of its attention to something, such as "the class token", or that none stands out; None
    of a single head, and where none gives anything."""
    heads = [
        (share, head, layer) for layer, each in enumerate(by_layer, 1) for head, share in enumerate(each.tolist(), 1)
    ]
    if len(heads) < 2 or (most := max(heads))[0] <= 0:
        return None
    share, head, layer = most
    mean = sum(each for each, *_ in heads) / len(heads)
    if percent(share) == percent(mean):
        return f"All heads give {to} about equally much: {percent(mean)}."
    return f"Of all heads, head {head} of layer {layer} gives {to} most: {percent(share)}; the mean is {percent(mean)}."


ALIKE = 0.9  # cosine of the weights of two heads over all queries
MOST_OF_TRACE = 2_000_000  # weights, read in a few ms


@computed_there
def most_alike(trace: Trace) -> str | None:
    """The two heads of one layer whose weights are most alike; None below `ALIKE`, or for too many weights."""
    recorded = layers(trace)
    if sum(attention.weights.numel() for attention in recorded) > MOST_OF_TRACE:
        return None
    best = (ALIKE, 0, 0, 0)
    for number, attention in enumerate(recorded, 1):
        flat = torch.nn.functional.normalize(attention.weights.float().transpose(0, 1).flatten(1), dim=1)
        like = (flat @ flat.T).triu(1)
        at = int(like.argmax())
        first, second = divmod(at, len(like))
        best = max(best, (float(like[first, second]), number, first + 1, second + 1))
    cosine, layer, *pair = best
    if not layer:
        return None
    return (
        f"Most alike are heads {pair[0]} and {pair[1]} of layer {layer}: the cosine of their weights is {cosine:.2f}."
    )


def between_words(weights: Float[np.ndarray, "word word2"], trained: bool) -> str:
    """What the words of one patch give to one another, at least two of them; of random weights first that they are."""
    count, largest = len(weights), float(weights.max())
    giver, taker = divmod(int(weights.argmax()), count)
    rows = weights.astype(float) / weights.sum(1, keepdims=True)
    even = float(-(rows * np.log(np.maximum(rows, 1e-300))).sum(1).mean()) / math.log(count)
    begin = "" if trained else "The weights are random, nothing was learned: "
    how = "the words of this patch attend almost evenly to one another"
    most = f"the largest weight is {100 * largest:.1f} %, from word {giver + 1} to word {taker + 1}"
    words = f"{how}; {most}; equal ones would be {100 / count:.1f} %." if even >= EVEN else f"{most}, of {count} words."
    return begin + (words if begin else begun(words))
