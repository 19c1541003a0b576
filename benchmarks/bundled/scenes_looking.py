"""Whether queries look at the thing that they stand for, over many pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8
from torch import Tensor

from vizkit.analysis.detection.instances import own_and_others
from vizkit.evaluation.measures import ratio_interval
from vizkit.models.detection.matching import Pairs


@dataclass(frozen=True)
class Looking:
    """`ratio` = mean attention per pixel on a query's own thing ÷ on the others of its picture, `low` and `high` its
    95 % interval over pictures (percentile bootstrap); `median` of the ratios of single queries."""

    ratio: float
    low: float
    high: float
    median: float
    queries: int


def densities(
    weights: Float[Tensor, "query cell"],
    grid: tuple[int, int],
    instances: UInt8[np.ndarray, "height width"],
    pairs: Pairs,
) -> Float[np.ndarray, "pair 2"]:
    """Of every matched query its attention per pixel on its own thing and on all other things, see `own_and_others`.
    Nothing for pictures with fewer than two things."""
    made = []
    for query, thing in zip(*(each.tolist() for each in pairs), strict=True):
        found = own_and_others(weights[query].unflatten(0, grid), instances, thing + 1)
        if found.others is not None:
            made.append((found.own, found.others))
    return np.array(made, float).reshape(-1, 2)


def looking(by_picture: Sequence[Float[np.ndarray, "_query 2"]], seed: int = 0) -> Looking:
    """Over all pictures that have two things at least. ValueError where there are none."""
    pictures = [each for each in by_picture if len(each)]
    if not pictures:
        raise ValueError("No image has two things with masks, so that nothing can be compared.")
    sums, every = np.array([each.sum(0) for each in pictures]), np.concatenate(pictures)
    ratio = ratio_interval(sums, seed)
    single = every[:, 0] / np.maximum(every[:, 1], 1e-12)
    return Looking(ratio.value, ratio.low, ratio.high, float(np.median(single)), len(every))
