"""What becomes of the answers when the shared place of a cluster is hidden in all its pictures.

The place is filled with the same place of other pictures of the label, those outside of the cluster, so that what is
seen there is what is usual for the label, and no grey square. The control fills a place of the same shape elsewhere.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int, UInt8
from torch import Tensor

from vizkit.analysis.remarks.data_set import Effect, place_in_words, shortcut
from vizkit.evaluation.data_set.record import BATCH, Recorded
from vizkit.evaluation.data_set.shortcuts import Cluster
from vizkit.evaluation.measures import Interval, share_interval
from vizkit.explanations.job import StoppedError, Stopping
from vizkit.explanations.passes import Answers
from vizkit.explanations.reading import pixels_on, stored_input
from vizkit.image import unprepare
from vizkit.models import Loaded
from vizkit.traces import NotApplicable

BY_CHANCE = 0.05
Hide = UInt8[Tensor, "picture channel height width"]


@dataclass(frozen=True, eq=False)
class Hidden:
    """Accuracy on the pictures `rows` as they are, with the place hidden, and with a place of its shape hidden
    elsewhere; `answers`: the model's class of each with the place hidden. `pictures`: how the first ones were shown.
    `effect`: whether the share of right answers falls or rises, against both, beyond chance (exact sign test, 5 %)."""

    rows: Int[np.ndarray, " member"]
    before: Interval
    after: Interval
    elsewhere: Interval
    answers: Int[np.ndarray, " member"]
    pictures: UInt8[np.ndarray, "few height width 3"]
    effect: Effect


def hide(
    loaded: Loaded,
    found: Recorded,
    cluster: Cluster,
    *,
    tell: Callable[[int, int], None] = lambda *_: None,
    stopping: Stopping = lambda: False,
    seed: int = 0,
) -> Hidden:
    """Two passes over the pictures of the cluster, which are read again. Raises NotApplicable where the model does not
    know their label, or all other pictures are of the cluster; StoppedError."""
    rows = cluster.rows[found.known[cluster.rows]]
    if not len(rows):
        raise NotApplicable("The model does not know this label, so no answer to it is right or wrong.")
    inside = np.isin(np.arange(len(found)), cluster.rows)
    fillers = np.flatnonzero((found.target == cluster.label) & ~inside)
    fillers = fillers if len(fillers) else np.flatnonzero(~inside)
    if not len(fillers):
        raise NotApplicable(
            "No image lies outside of the cluster, so nothing can be put in the place of what it shares."
        )
    chosen = np.random.default_rng(seed).choice(fillers, len(rows), replace=len(fillers) < len(rows))
    needs, answering = loaded.preprocessing, Answers(loaded)
    place, control = (grown(each, needs.size_hw) for each in (cluster.place, elsewhere(cluster.place)))
    answers: list[list[np.ndarray]] = []
    shown: list[np.ndarray] = []
    for at in range(0, len(rows), BATCH):
        if stopping():
            raise StoppedError
        own, other = (_seen(found, some[at : at + BATCH], loaded) for some in (rows, chosen))
        mixed = [torch.where(mask, other, own) for mask in (place, control)]
        given = [pixels_on(loaded.device, each, needs) for each in mixed]
        answers.append([answering.forward(each).argmax(1).cpu().numpy() for each in given])
        shown = shown or [unprepare(each, needs) for each in given[0][:8].cpu().numpy()]
        tell(min(at + BATCH, len(rows)), len(rows))
    hidden, controls = map(np.concatenate, zip(*answers, strict=True))
    before, after, beside = (each == found.shown[rows] for each in (found.answer[rows], hidden, controls))
    falls = all(lost(each, after) for each in (before, beside))
    rises = all(lost(after, each) for each in (before, beside))
    effect = "falls" if falls else "rises" if rises else ""
    intervals = map(share_interval, (before, after, beside))
    return Hidden(rows, *intervals, answers=hidden, pictures=np.stack(shown), effect=effect)


def lost(right: Bool[np.ndarray, " member"], then: Bool[np.ndarray, " member"]) -> bool:
    """Whether fewer are right then, pair by pair."""
    from scipy.stats import binomtest

    changed = int((right != then).sum())
    worse = int((right & ~then).sum())
    return changed > 0 and bool(binomtest(worse, changed, alternative="greater").pvalue < BY_CHANCE)


def _seen(found: Recorded, rows: Int[np.ndarray, " some"], loaded: Loaded) -> Hide:
    pictures = (found.picture(row) for row in rows.tolist())
    return torch.stack([torch.from_numpy(stored_input(each, loaded.preprocessing)) for each in pictures])


def grown(place: Bool[np.ndarray, "row column"], size_hw: tuple[int, int]) -> Bool[Tensor, "height width"]:
    """On the pixels, half a cell further on all sides: what is seen in a cell may reach over its edge."""
    cells = F.interpolate(torch.from_numpy(place)[None, None].float(), size_hw, mode="nearest")
    margin = max(1, round(min(size_hw[0] / place.shape[0], size_hw[1] / place.shape[1]) / 2))
    return F.max_pool2d(cells, 2 * margin + 1, stride=1, padding=margin)[0, 0] > 0


def elsewhere(place: Bool[np.ndarray, "row column"]) -> Bool[np.ndarray, "row column"]:
    """The place turned by half around the centre; mirrored, or else moved, where that is the place itself."""
    others = (place[::-1, ::-1], place[:, ::-1], place[::-1], np.roll(place, place.shape[1] // 2, 1))
    return np.ascontiguousarray(min(others, key=lambda other: int((other & place).sum())))


def verdict(found: Recorded, cluster: Cluster, hidden: Hidden | str | None) -> str:
    """What may be said of a cluster, in one sentence or two."""
    tried = isinstance(hidden, Hidden)
    numbers = (hidden.before.value, hidden.after.value, hidden.elsewhere.value) if tried else None
    effect: Effect = hidden.effect if tried else ""
    counts = len(cluster.rows), cluster.of_label, cluster.alike, cluster.of_others
    where = place_in_words(cluster.place)
    return shortcut(found.labels[cluster.label], counts, where, cluster.score, numbers, effect)


def by_effect(tried: Iterable[tuple[Cluster, Any]]) -> list[tuple[Cluster, Any]]:
    """Those on which answers depend first."""
    return sorted(tried, key=lambda each: not (isinstance(each[1], Hidden) and each[1].effect))
