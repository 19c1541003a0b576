"""A dual-scale ViT: one image cut twice, and one attention that mixes the scores of both cuts, at any α."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.attention_map import find_query
from vizkit.analysis.remarks.answers import along
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import curves
from vizkit.figure.class_bars import ClassBars
from vizkit.figure.palette import class_colours
from vizkit.figure.scales import robust
from vizkit.geometry import id_at, window_ids
from vizkit.models.families.dual_scale import Partners, Streams, dual, logits_at, partners, streams
from vizkit.traces import Attention, NotApplicable
from vizkit.views.blocks import (
    Answered,
    Bars,
    Block,
    Chart,
    Heading,
    Line,
    Map,
    Numbers,
    Part,
    Proof,
    Said,
    Tile,
    Tiles,
    side_by_side,
)
from vizkit.views.explore import sentences
from vizkit.views.rows_of import layer_for_browser
from vizkit.views.subject import Subject

ALPHAS = tuple(round(0.05 * step, 2) for step in range(21))
MOST_TOKENS = 400  # of which the answers at all of them are computed


def two_grids(of: Subject, alpha: float, head: int | None) -> Iterator[Block]:
    """`alpha`: of the steps ALPHAS. `head` from 1, None for the mean."""
    held, loaded, index = streams_of(of), of.loaded, None if head is None else head - 1
    own, alpha, merging = held.alpha, exactly(alpha, held.alpha), dual(loaded).merge_block
    every = [exactly(each, own) for each in ALPHAS] if len(held.tokens) <= MOST_TOKENS else sorted({0.0, own, 1.0})
    answers = Answers.of(of, {each: logits_of(of, held, each) for each in (*every, alpha)}, own)
    if answers:
        yield Said(along(every, torch.stack([answers.shares[each] for each in every]), answers.labels, "α"))
    attention, token = held.attention(alpha), id_at(held.tokens, of.asked) or 0
    pair = partners(loaded, token)

    def row(values: Tensor) -> np.ndarray:  # head key
        chosen = values.mean(0) if index is None else values[min(index, len(values) - 1)]
        return chosen.numpy().reshape(held.tokens.grid)

    weights = {each: row(held.merged(each)[:, token].softmax(-1)) for each in dict.fromkeys((*every, alpha))}
    rows = [row(each[:, token]) for each in (held.fine_scores, held.coarse_scores, held.merged(alpha))]
    merged = (
        Heading(f"Merged attention of block {merging}, {named(alpha, own)}"),
        over_picture(of, attention, merging, index, "Merged attention of"),
    )
    kind = "learned" if held.learned else "fixed in training"
    words = f"The model’s own α is {own:.4f}, {kind}. A new α runs block {merging} and what follows it again."
    beside = (*((answers.bars(alpha, own),) if answers else ()), Line(words))
    yield side_by_side(grids(of, pair), merged, beside, widths=(4, 4, 3))
    yield tiles(rows, weights[alpha], alpha, pair)
    if answers:
        yield Answered(loaded)
        yield Part(lambda: (answers.chart(every, own),))
    yield Proof(of.seen)
    kept = {"fine_scores": held.fine_scores, "coarse_scores": held.coarse_scores, "alphas": [alpha, own]}
    yield Numbers(lambda: kept | {"attention": attention.weights[0], "logits": logits_of(of, held, alpha)})


def named(alpha: float, own: float) -> str:
    return f"α = {alpha:.2f}{', the model’s own' * (alpha == own)}"


def exactly(step: float, own: float) -> float:
    """The α of a step: the model's own at that which is nearest to it."""
    return own if step == min(ALPHAS, key=lambda each: abs(each - own)) else step


def streams_of(of: Subject) -> Streams:
    """Both streams up to the merging block: the model runs so far once for each image."""
    if of.changes.model:
        raise NotApplicable("Two scales are merged in the model as it is, without changes of its attention.")
    return of.kept("dual streams", lambda: streams(of.loaded, of.pixels))


def logits_of(of: Subject, held: Streams, alpha: float) -> Tensor:
    """From the merging block onwards, and once for every α."""
    return of.kept(("dual logits", alpha), lambda: logits_at(of.loaded, held, alpha))


@dataclass(frozen=True)
class Answers:
    """Of the classes that are the first at any α, and the second and third at the model's own."""

    labels: list[str]
    colours: list[str]
    shares: Mapping[float, Tensor]

    @classmethod
    def of(cls, of: Subject, logits: Mapping[float, Tensor], own: float) -> "Answers | None":
        loaded = of.loaded
        if not loaded.classifies:
            return None
        tops = (loaded.head.top(each, 3 if alpha == own else 1) for alpha, each in logits.items())
        classes = list(dict.fromkeys(index for top in sorted(tops, key=len, reverse=True) for index, _ in top))
        shares = {alpha: loaded.head.values(each)[classes] for alpha, each in logits.items()}
        return cls([*map(loaded.label, classes)], class_colours(classes, len(logits[own])), shares)

    def bars(self, alpha: float, own: float) -> Bars:
        now, before = (self.shares[each].tolist() for each in (alpha, own))
        title = f"probability at α = {alpha:.2f}; ticks: {own:.2f}"
        return Bars(ClassBars(self.labels, now, self.colours, before, title=title), "Answers, ticks at the own α")

    def chart(self, every: Sequence[float], own: float) -> Chart:
        shares = torch.stack([self.shares[each] for each in every]).numpy()
        lines = {label: (np.array(every), shares[:, at]) for at, label in enumerate(self.labels)}
        figure = curves(lines, "α; dotted: the model’s own", "probability", mode="lines+markers", marked={own: "dot"})
        for at, colour in enumerate(self.colours):
            figure.update_traces(line_color=colour, selector=at)
        figure.update_yaxes(range=[0, 1.03]).update_layout(height=280)
        return Chart(figure, "Probability of the likeliest classes at every α", "The answers at every α")


def over_picture(of: Subject, attention: Attention, number: int, index: int | None, label: str) -> Map:
    """With what is said of the row of every query. `number` of the block from 1, `index` of the head from 0."""
    otherwise, said_by = sentences(of, attention, number, index)
    said = said_by.get(find_query(attention, of.asked)[0], otherwise)
    rows = layer_for_browser(attention, index, of.asked)
    return Map(rows, of.asked, label, "weight of a key", said=said, said_by=said_by)


def grids(of: Subject, pair: Partners) -> Iterator[Block]:
    """Both and nothing else: a fine patch under the pointer outlines its coarse one."""
    fine, coarse = pair.fine.grid or (1, 1), pair.coarse.grid or (1, 1)
    ids = window_ids(fine, (fine[0] // coarse[0], fine[1] // coarse[1])).numpy()
    nothing, regions = np.zeros((*ids.shape, ids.shape[1]), np.float32), np.zeros_like(ids)
    more: Any = {"query_regions": regions, "key_regions": regions, "second_grid": coarse, "kind": "pick"}
    yield Heading(f"{len(pair.fine):,} fine patches, {len(pair.coarse):,} coarse ones in blue")
    yield Map(Rows(nothing, fine, fine, ids, ids, **more), of.asked, "Patches of", "", room=False)
    count, first = len(pair.fine_ids), pair.coarse_id * len(pair.fine_ids)
    inside = ", ".join(str(each + 1) for each in pair.fine_ids)
    yield Line(
        f"Coarse patch {pair.coarse_id + 1} stands beside fine patches {inside} (counted row by row): rows {first + 1} "
        f"to {first + count} of both streams, the coarse patch {count} times."
    )


def tiles(rows: Sequence[np.ndarray], weights: np.ndarray, alpha: float, pair: Partners) -> Tiles:
    """One row of each matrix on the grid of fine patches."""
    scale = robust(rows, signed=True)
    names = *(f"S of {each.stride:g} × {each.stride:g}" for each in (pair.fine, pair.coarse)), "merged S"
    notes = "the fine stream", "the coarse stream, by its copies", f"{alpha:.2f} · fine + {1 - alpha:.2f} · coarse"
    drawn = [Tile(name, values, note, scale=scale) for name, values, note in zip(names, rows, notes, strict=True)]
    softmax = Tile("attention", weights, "softmax of the merged scores")
    return Tiles(
        "Its scores, merged, and after the softmax of every head",
        (*drawn, softmax),
        "Scores on one scale, and weights on their own",
        tile_px=165,
    )
