"""How good the answers of one model are: accuracy, loss, calibration, confusion, by class. Libraries do the counting.

Accuracy's interval is the percentile bootstrap over pictures (Efron & Tibshirani 1993); where fewer than five answers
are right, or wrong, many resamples have none of them and the bootstrap would end at 0 or 100 %: the exact binomial
interval (Clopper & Pearson 1934) takes its place.
Calibration: expected calibration error, 15 equal bins (Naeini et al. 2015; Guo et al. 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

BINS = 15
TOP = 5
LEVEL = 0.95
FEW = 5  # of e⁻⁵ of all resamples none of so many is in, which is no part of a 95 % interval
RESAMPLES, DRAWS = 2000, 1000  # of means, of ratios
AT_ONCE = 2_000_000  # resampled pictures in memory
ROWS = 4096  # pictures at a time, where logits are read
BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Bin:
    """Pictures whose answer had a probability in [low, low + 1/15), in the last bin up to 1: how many, the mean
    probability, the share right. Closed below as torchmetrics has it; Guo et al. close them above."""

    low: float
    images: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class ClassRow:
    """One label. NaN where a figure has no meaning: no picture of it (recall), no answer like it (precision)."""

    label: str
    images: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Measures:
    """One model on `images` pictures. `top5` only where it has more than 5 classes; `loss` in nats."""

    images: int
    accuracy: Interval
    top5: float | None
    loss: float
    ece: float
    bins: tuple[Bin, ...]
    classes: tuple[ClassRow, ...]
    exact: bool  # the interval is Clopper and Pearson's

    @property
    def surer(self) -> float:
        """By how much the mean confidence is above the accuracy, −1..1; below 0 where it is too unsure."""
        return sum(each.images * (each.confidence - each.accuracy) for each in self.bins) / self.images


@dataclass(frozen=True, eq=False)
class Judged:
    """Each picture's answer, reduced to what all measures need. `answer`: the model's class; `label`: the label of the
    set that this class is, `others` if none; `rank`: how many classes the model names before the right one: the
    likelier ones, and of equal ones the first."""

    target: Int[np.ndarray, " image"]  # label of the set
    answer: Int[np.ndarray, " image"]
    label: Int[np.ndarray, " image"]
    probability: Float32[np.ndarray, " image"]
    loss: Float[np.ndarray, " image"]
    rank: Int[np.ndarray, " image"]
    outputs: int

    @cached_property
    def right(self) -> Bool[np.ndarray, " image"]:
        return self.label == self.target


def judge(
    logits: Float32[np.ndarray, "image output"],
    target: Int[np.ndarray, " image"],
    classes: Int[np.ndarray, " label"],
) -> Judged:
    """`target`: the label of each picture; `classes`: the model's class of each label, −1 where it has none.

    Reads a few thousand rows at a time, in double precision.
    """
    from scipy.special import log_softmax

    others, outputs = len(classes), logits.shape[1]
    label_of = np.full(outputs, others)
    label_of[classes[classes >= 0]] = np.flatnonzero(classes >= 0)
    parts = []
    for start in range(0, len(logits), ROWS):
        some = np.asarray(logits[start : start + ROWS], np.float64)
        right = classes[target[start : start + ROWS]]
        row = np.arange(len(some))
        logs = log_softmax(some, axis=1)
        answer = some.argmax(1)
        own, earlier = some[row, right][:, None], np.arange(outputs) < right[:, None]
        rank = ((some > own) | ((some == own) & earlier)).sum(1)
        parts.append((answer, np.exp(logs[row, answer]), 0.0 - logs[row, right], rank))
    answer, probability, loss, rank = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Judged(target, answer, label_of[answer], probability.astype(np.float32), loss, rank, outputs)


def measure(judged: Judged, labels: tuple[str, ...], seed: int = 0) -> Measures:
    right, bins = judged.right, reliability(judged)
    return Measures(
        images=len(right),
        accuracy=share_interval(right, seed),
        top5=float((judged.rank < TOP).mean()) if judged.outputs > TOP else None,
        loss=float(judged.loss.mean()),
        ece=calibration_error(bins),
        bins=bins,
        classes=_by_class(judged, labels),
        exact=_few(right),
    )


def share_interval(right: Bool[np.ndarray, " image"], seed: int = 0) -> Interval:
    """Share of True, with its interval over pictures that might have been drawn instead."""
    from scipy.stats import binomtest

    if _few(right):
        bounds = binomtest(int(right.sum()), len(right)).proportion_ci(LEVEL, method="exact")
        return Interval(float(right.mean()), float(bounds.low), float(bounds.high))
    return mean_interval(right.astype(np.float32), seed)


def _few(right: Bool[np.ndarray, " image"]) -> bool:
    return bool(min(right.sum(), (~right).sum()) < FEW)


def mean_interval(values: Float32[np.ndarray, " image"], seed: int = 0) -> Interval:
    """The mean of `values`, one a picture, with its percentile bootstrap interval."""
    from scipy.stats import bootstrap

    bounds = bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, AT_ONCE // len(values)),
        vectorized=True,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(float(values.mean(dtype=np.float64)), float(bounds.low), float(bounds.high))


def ratio_interval(sums: Float[np.ndarray, "example 2"], seed: int = 0) -> Interval:
    """The sum of the first column ÷ that of the second, a row an example, with its percentile bootstrap interval."""
    drawn = np.random.default_rng(seed).integers(len(sums), size=(DRAWS, len(sums)))
    value, some = (each[..., 0] / np.maximum(each[..., 1], 1e-12) for each in (sums.sum(0), sums[drawn].sum(1)))
    low, high = np.percentile(some, [2.5, 97.5])
    return Interval(float(value), float(low), float(high))


def reliability(judged: Judged) -> tuple[Bin, ...]:
    """The bins that have pictures, from low to high. A probability that is rounded to 1 belongs to the last one, not to
    a bin of its own, which torchmetrics would open for it."""
    import torch

    edges = torch.linspace(0, 1, BINS + 1).numpy()  # torchmetrics' own, to the last bit
    sure, right = np.minimum(judged.probability, BELOW_ONE), judged.right
    of = np.searchsorted(edges, sure, side="right") - 1
    counts = np.bincount(of, minlength=BINS)
    sums = (np.bincount(of, weights=values, minlength=BINS) for values in (sure, right))
    means = [values / np.maximum(counts, 1) for values in sums]
    return tuple(
        Bin(float(edges[i]), int(counts[i]), float(means[0][i]), float(means[1][i])) for i in np.flatnonzero(counts)
    )


def confusion(judged: Judged, labels: int) -> Int[np.ndarray, "label answer"]:
    """How often each label (row) was answered by each (column); the last column is any class that is no label."""
    from sklearn.metrics import confusion_matrix

    return confusion_matrix(judged.target, judged.label, labels=np.arange(labels + 1))[:-1].astype(np.int64)


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error, 0..1: how far confidence and accuracy lie apart, mean over pictures (Guo et al. 2017,
    equation 3). torchmetrics gives the same, and takes a second to be imported."""
    apart = sum(each.images * abs(each.accuracy - each.confidence) for each in bins)
    return apart / sum(each.images for each in bins)


def _by_class(judged: Judged, labels: tuple[str, ...]) -> tuple[ClassRow, ...]:
    from sklearn.metrics import precision_recall_fscore_support

    undefined: Any = np.nan
    scores: Any = precision_recall_fscore_support(
        judged.target, judged.label, labels=np.arange(len(labels)), zero_division=undefined
    )
    rows = zip(labels, *scores, strict=True)
    return tuple(ClassRow(label, int(n), float(p), float(r), float(f)) for label, p, r, f, n in rows)
