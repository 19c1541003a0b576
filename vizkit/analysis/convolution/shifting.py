"""What moving an image costs, over many images: right answers, the same answers, and likeness of the features."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

Z95 = 1.959964  # of the normal distribution: 95 % lie within so many standard deviations


class Line(NamedTuple):
    """One model: every list has a value for each distance, the halves of 95 % intervals beside them."""

    model: str
    images: int
    distance_px: list[int]
    right: list[float]
    right_half: list[float]
    same: list[float]
    same_half: list[float]
    cosine: list[float]
    cosine_half: list[float]


def line(
    model: str,
    distance_px: Sequence[int],
    right: Bool[np.ndarray, "distance image"],
    same: Bool[np.ndarray, "distance image"],
    cosine: Float[np.ndarray, "distance image"],
) -> Line:
    """`right`: the first answer is the label, `same`: it is that of the unmoved image. Left and right are averaged:
    the distances −d and d of an image are one value."""
    sizes = sorted({abs(each) for each in distance_px})
    sides = {size: [row for row, each in enumerate(distance_px) if abs(each) == size] for size in sizes}
    columns = [
        [interval(values[sides[size]].astype(float).mean(0)) for size in sizes] for values in (right, same, cosine)
    ]
    split = [[each[part] for each in column] for column in columns for part in (0, 1)]
    return Line(model, right.shape[1], sizes, *split)


def interval(values: Float[np.ndarray, " image"]) -> tuple[float, float]:
    """(mean, half of its 95 % interval), by the spread over the images."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.mean()), Z95 * spread / len(values) ** 0.5
