"""Boxes that are said of many scenes against the things that are there, in whatever order the scores are.

Average precision as COCO defines it (Lin et al. 2014), its interval over scenes (percentile bootstrap), and the kinds
of mistakes (TIDE: Bolya et al. 2020, arXiv 2008.08115, § 2.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from vizkit.evaluation.measures import Interval, share_interval

OVERLAPS, RECALLS = tuple(np.linspace(0.5, 0.95, 10).tolist()), np.linspace(0, 1, 101)
RIGHT, NEAR, SURE = 0.5, 0.1, 0.5  # IoU of a thing that is found, and from which on a box has to do with it; score
KINDS = ("right", "badly placed", "wrong class", "said twice", "out of nothing", "wrong class and place")
RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Boxes:
    """Of all scenes, one scene after another. `scene`: from 0; `boxes_cxcywh`: middle, width, height as shares of the
    picture; `scores`: 0 to 1, of what is there 1."""

    scene: Int[np.ndarray, " box"]
    labels: Int[np.ndarray, " box"]
    boxes_cxcywh: Float32[np.ndarray, "box 4"]
    scores: Float32[np.ndarray, " box"]

    def __len__(self) -> int:
        return len(self.scene)

    def where(self, kept: Bool[np.ndarray, " box"]) -> "Boxes":
        return Boxes(self.scene[kept], self.labels[kept], self.boxes_cxcywh[kept], self.scores[kept])

    @property
    def corners(self) -> Float[np.ndarray, "box 4"]:
        """Left, top, right, bottom."""
        middle, half = self.boxes_cxcywh[:, :2].astype(np.float64), self.boxes_cxcywh[:, 2:].astype(np.float64) / 2
        return np.concatenate([middle - half, middle + half], 1)


class _Pairs(NamedTuple):
    """Every box with every thing of its scene. `same`: whether both are of one class."""

    box: Int[np.ndarray, " pair"]
    thing: Int[np.ndarray, " pair"]
    overlap: Float[np.ndarray, " pair"]
    same: Bool[np.ndarray, " pair"]


def _pairs(said: Boxes, there: Boxes) -> _Pairs:
    first = np.searchsorted(there.scene, said.scene)
    count = np.searchsorted(there.scene, said.scene, "right") - first
    box = np.repeat(np.arange(len(said)), count)
    thing = np.arange(len(box)) - (np.cumsum(count) - count - first)[box]
    a, b = said.corners[box], there.corners[thing]
    shared = (np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])).clip(0).prod(1)
    areas = (a[:, 2:] - a[:, :2]).prod(1) + (b[:, 2:] - b[:, :2]).prod(1)
    return _Pairs(box, thing, shared / (areas - shared).clip(1e-12), said.labels[box] == there.labels[thing])


def _taken(said: Boxes, pairs: _Pairs, least: float) -> Int[np.ndarray, " box"]:
    """The thing that each box takes, −1 for none: the surest box first, and of the things of its class that are left
    the one that it overlaps most, by an IoU of `least` at least."""
    rank = np.empty(len(said), int)
    rank[np.argsort(-said.scores, kind="stable")] = np.arange(len(said))
    able = np.flatnonzero(pairs.same & (pairs.overlap >= least))
    able = able[np.lexsort((-pairs.overlap[able], rank[pairs.box[able]]))]
    of, gone = np.full(len(said), -1), set[int]()
    for box, thing in zip(pairs.box[able].tolist(), pairs.thing[able].tolist(), strict=True):
        if of[box] < 0 and thing not in gone:
            of[box] = thing
            gone.add(thing)
    return of


# ---- average precision -----------------------------------------------------------------------------------------------
def curves(
    said: Boxes,
    there: Boxes,
    labels: int,
    weights: Float[np.ndarray, "draw scene"],
    overlaps: Sequence[float] = (RIGHT,),
) -> Float[np.ndarray, "draw overlap label recall"]:
    """Precision at the recalls 0, .01 … 1: the best from there on, as COCO has it. `weights`: how often each scene was
    drawn. NaN for classes of which nothing is there."""
    order, pairs = np.argsort(-said.scores, kind="stable"), _pairs(said, there)
    right = [_taken(said, pairs, least)[order] >= 0 for least in overlaps]
    made = np.full((len(weights), len(right), labels, len(RECALLS)), np.nan)
    for label in np.unique(there.labels):
        own = said.labels[order] == label
        drawn = weights[:, said.scene[order][own]]
        count, things = drawn.cumsum(1), weights[:, there.scene[there.labels == label]].sum(1)
        for place, each in enumerate(right):
            hit = each[own]  # between two of these recall stands still, and precision falls
            found = drawn[:, hit].cumsum(1)
            best = np.maximum.accumulate((found / count[:, hit].clip(1e-12))[:, ::-1], 1)[:, ::-1]
            best = np.pad(best, ((0, 0), (0, 1)))  # what is never reached
            for draw in np.flatnonzero(things):
                made[draw, place, label] = best[draw, np.searchsorted(found[draw] / things[draw], RECALLS)]
    return made


@dataclass(frozen=True)
class Measures:
    """Average precisions from 0 to 1 with intervals over scenes, NaN where nothing is there: the mean over IoU .5, .55
    … .95, at .5 and at .75. `by_label`: at .5. `faultless`: share of the scenes all of whose things are found (score
    and IoU ≥ .5) with nothing else said."""

    ap: Interval
    ap50: Interval
    ap75: Interval
    by_label: tuple[float, ...]
    faultless: Interval


def measure(said: Boxes, there: Boxes, labels: int, scenes: int, seed: int = 0) -> Measures:
    drawn = np.random.default_rng(seed).multinomial(scenes, np.full(scenes, 1 / scenes), RESAMPLES)
    point, draws = (
        curves(said, there, labels, weights, OVERLAPS).mean(-1)
        for weights in (np.ones((1, scenes)), drawn.astype(np.float64))
    )

    def interval(overlaps: slice) -> Interval:
        value, some = (np.ma.masked_invalid(each[:, overlaps]).mean((1, 2)).filled(np.nan) for each in (point, draws))
        low, high = np.nanpercentile(some, [2.5, 97.5]) if len(there) else (np.nan, np.nan)
        return Interval(float(value[0]), float(low), float(high))

    return Measures(
        interval(slice(None)),
        interval(slice(0, 1)),
        interval(slice(5, 6)),
        tuple(point[0, 0].tolist()),
        share_interval(mistakes(said, there).by_scene(scenes) == 0),
    )


# ---- mistakes --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Mistakes:
    """`said`: the boxes that are sure enough, `kind` what each of them is, a place in `KINDS`. `missed`: the things
    that no box has found; TIDE leaves out those on which a badly placed box lies, or one of another class."""

    said: Boxes
    there: Boxes
    kind: Int[np.ndarray, " box"]
    missed: Bool[np.ndarray, " thing"]

    @property
    def counts(self) -> dict[str, int]:
        """Of boxes by kind, and of the missed things."""
        counts = np.bincount(self.kind, minlength=len(KINDS)).tolist()
        return {**dict(zip(KINDS, counts, strict=True)), "missed": int(self.missed.sum())}

    def by_scene(self, scenes: int, kind: str = "", label: int | None = None) -> Int[np.ndarray, " scene"]:
        """How many of a kind, "" for all, there are in each; of a class those of its boxes and things alone."""
        wrong = self.kind > 0 if not kind else self.kind == KINDS.index(kind) if kind in KINDS else self.kind < 0
        missed = self.missed & (kind in ("", "missed"))
        if label is not None:
            wrong, missed = wrong & (self.said.labels == label), missed & (self.there.labels == label)
        return np.bincount(np.concatenate([self.said.scene[wrong], self.there.scene[missed]]), minlength=scenes)


def mistakes(said: Boxes, there: Boxes, least: float = SURE) -> Mistakes:
    """Of the boxes with a score of `least` at least. A wrong one is, in TIDE's order: badly placed (it overlaps a thing
    of its class by an IoU from .1 to .5), of the wrong class (another by .5), said twice (its thing is taken by a surer
    box), out of nothing (no thing by .1), or wrong in class and place."""
    sure = said.where(said.scores >= least)
    pairs = _pairs(sure, there)

    def best(which: Bool[np.ndarray, " pair"]) -> Float[np.ndarray, " box"]:
        overlap = np.zeros(len(sure))
        np.maximum.at(overlap, pairs.box[which], pairs.overlap[which])
        return overlap

    taken, own, other = _taken(sure, pairs, RIGHT), best(pairs.same), best(~pairs.same)
    near = (own >= NEAR) & (own < RIGHT)
    kind = np.select(
        [taken >= 0, near, other >= RIGHT, own >= RIGHT, np.maximum(own, other) < NEAR], range(len(KINDS) - 1), 5
    )
    missed = np.ones(len(there), bool)
    missed[taken[kind == 0]] = False
    return Mistakes(sure, there, kind, missed)
