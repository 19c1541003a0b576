"""Whether queries look at the thing that they stand for: attention a pixel on it, and a pixel on the other things."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8
from torch import Tensor

from vizkit.models.detection.matching import Pairs

__all__ = ["Looking", "densities", "looking"]

RESAMPLES = 1000


@dataclass(frozen=True)
class Looking:
    """`ratio` = mean attention a pixel on a query's own thing ÷ on the others of its picture, `low` and `high` its 95 %
    interval over pictures (percentile bootstrap); `median` of the ratios of single queries."""

    ratio: float
    low: float
    high: float
    median: float
    queries: int


def densities(
    weights: Float[Tensor, "query cell"], grid: tuple[int, int], instances: UInt8[np.ndarray, "height width"],
    pairs: Pairs,
) -> Float[np.ndarray, "pair 2"]:
    """Of every matched query its attention a pixel on its own thing and on all other things.

    `weights`: a row for each query, which sums to 1; that of a cell is spread evenly over its pixels. `instances`: of
    every pixel 0, or 1 + the place of the thing that is seen there. Nothing for pictures with fewer than two things.
    """
    count = int(instances.max())
    if count < 2:
        return np.zeros((0, 2))
    height, width = instances.shape
    row, column = np.arange(height) * grid[0] // height, np.arange(width) * grid[1] // width
    cell = row[:, None] * grid[1] + column
    cells = grid[0] * grid[1]
    pixels = np.bincount((instances.astype(np.int64) * cells + cell).ravel(), minlength=(count + 1) * cells)
    pixels = pixels.reshape(count + 1, cells)
    share = pixels[1:] / np.maximum(1, pixels.sum(0))
    on_each = weights.double().cpu().numpy() @ share.T  # (query, thing)
    size = pixels[1:].sum(1)
    made = []
    for query, thing in zip(*(each.tolist() for each in pairs), strict=True):
        others = np.arange(count) != thing
        made.append((on_each[query, thing] / size[thing], on_each[query, others].sum() / size[others].sum()))
    return np.array(made).reshape(-1, 2)


def looking(by_picture: list[Float[np.ndarray, "_query 2"]], seed: int = 0) -> Looking:
    """Over all pictures that have two things at least. ValueError where there are none."""
    pictures = [each for each in by_picture if len(each)]
    if not pictures:
        raise ValueError("No picture has two things, so that nothing can be compared.")
    sums, every = np.array([each.sum(0) for each in pictures]), np.concatenate(pictures)
    draws = np.random.default_rng(seed).integers(len(sums), size=(RESAMPLES, len(sums)))
    own, others = sums[draws].sum(1).T
    low, high = np.percentile(own / others, [2.5, 97.5])
    total = sums.sum(0)
    median = float(np.median(every[:, 0] / np.maximum(every[:, 1], 1e-12)))
    return Looking(float(total[0] / total[1]), float(low), float(high), median, len(every))
