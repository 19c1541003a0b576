"""How well pixels are given to things: panoptic quality (Kirillov et al. 2019, arXiv 1801.00868, § 4).

Two segments of one class match when their IoU is above .5; no segment can match two, for it has only one half. Of each
class PQ = Σ IoU of matches / (matches + ½ said in vain + ½ missed), and the mean over the classes that occur.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from vizkit.models.detection.segmenting import Segments

MATCH = 0.5


@dataclass(frozen=True)
class Quality:
    """From 0 to 1: `pq` = `segmentation` (mean IoU of matches) · `recognition` (their F1) in each class, means over
    classes. `perfect`: share of pictures in which all things match and nothing else is said."""

    pq: float
    segmentation: float
    recognition: float
    perfect: float


def ious(said: Segments, truth: Segments) -> Float[np.ndarray, "said true"]:
    """Of every segment with every thing: pixels of both / pixels of either."""
    shape = len(said.labels) + 1, len(truth.labels) + 1
    both = np.ravel_multi_index((said.instances.astype(int), truth.instances.astype(int)), shape)
    counts = np.bincount(both.ravel(), minlength=shape[0] * shape[1]).reshape(shape)
    either = counts.sum(1, keepdims=True) + counts.sum(0) - counts
    return (counts / np.maximum(either, 1))[1:, 1:]


def matches(said: Segments, truth: Segments) -> list[tuple[int, int, float]]:
    """(place in `said`, place in `truth`, IoU) of every match."""
    overlap = ious(said, truth) * (said.labels[:, None] == truth.labels)
    return [(int(mine), int(theirs), float(overlap[mine, theirs])) for mine, theirs in np.argwhere(overlap > MATCH)]


def quality(said: Sequence[Segments], truth: Sequence[Segments], labels: int) -> Quality:
    """Over all pictures together. `labels`: how many classes there are; those that nobody names count for nothing."""
    overlap, hits, half = np.zeros(labels), np.zeros(labels), np.zeros(labels)
    perfect = 0
    for mine, true in zip(said, truth, strict=True):
        found = matches(mine, true)
        for _, theirs, iou in found:
            overlap[true.labels[theirs]] += iou
            hits[true.labels[theirs]] += 1
        half += (np.bincount(mine.labels, minlength=labels) + np.bincount(true.labels, minlength=labels)) / 2
        perfect += len(found) == len(mine.labels) == len(true.labels)
    occurs = half > 0  # matches + ½ in vain + ½ missed = half of all segments said and true
    share = perfect / max(1, len(said))
    if not occurs.any():
        return Quality(1.0, 1.0, 1.0, share)  # nothing is there, and nothing is said
    segmentation = (overlap / np.maximum(hits, 1))[occurs]
    recognition = hits[occurs] / half[occurs]
    pq = segmentation * recognition
    return Quality(float(pq.mean()), float(segmentation.mean()), float(recognition.mean()), share)
