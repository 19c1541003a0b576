"""What is said of heads that were taken away one by one: means with intervals, an order, and how well a gradient
foresees it (Michel et al. 2019, arXiv 1905.10650)."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Z = 1.96  # a 95 % interval of a mean of many
EXAMPLES = 6


class HeadImportance(NamedTuple):
    """Of every head by (layer, head) from 0: the mean of what log p of the answer loses without it, in nats, `half` of
    its 95 % interval, the share of images whose answer becomes another, and the mean of the gradient's estimate;
    `examples`: the images that lose the most, by their numbers, the first first. Of a model without classes `lost` is
    the fall of a cosine, and what follows from classes is NaN."""

    names: tuple[tuple[int, int], ...]
    images: int
    lost: tuple[float, ...]
    half: tuple[float, ...]
    flipped: tuple[float, ...]
    estimate: tuple[float, ...]
    examples: tuple[tuple[int, ...], ...]

    @property
    def of_likeness(self) -> bool:
        return all(map(math.isnan, self.flipped))

    @property
    def correlation(self) -> float:
        """Spearman's, between what is lost and its estimate."""
        return rank_correlation(self.lost, self.estimate)

    @property
    def order(self) -> list[int]:
        """The heads from the most to the least important."""
        return sorted(range(len(self.names)), key=lambda i: -self.lost[i])


def for_all(half: Sequence[float]) -> list[float]:
    """Halves of 95 % intervals, each of one head by itself, widened so that all hold together (Bonferroni): the largest
    of many heads is large by chance too."""
    normal = NormalDist()
    wider = normal.inv_cdf(1 - 0.025 / len(half)) / normal.inv_cdf(0.975)
    return [wider * width for width in half]


def not_chance(lost: Sequence[float], half: Sequence[float]) -> list[bool]:
    """Which heads are told from no loss by intervals that hold for all of them."""
    return [abs(value) > width for value, width in zip(lost, for_all(half), strict=True)]


def matters_most(lost: Sequence[float], half: Sequence[float]) -> int:
    """The head without which most is lost beyond chance; where there is none, without which most is lost."""
    known = [at for at, sure in enumerate(not_chance(lost, half)) if sure and lost[at] > 0]
    return max(known or range(len(lost)), key=lost.__getitem__)


def grid_of(names: Sequence[tuple[int, int]], values: Sequence[float]) -> Float[np.ndarray, "layer head"]:
    """Numbers of heads, (layer, head) from 0, as a matrix; NaN where a layer has fewer."""
    layers, heads = (1 + max(name[axis] for name in names) for axis in (0, 1))
    matrix = np.full((layers, heads), np.nan)
    for (layer, head), value in zip(names, values, strict=True):
        matrix[layer, head] = value
    return matrix


def summed_up(
    names: Sequence[tuple[int, int]],
    lost: Float[np.ndarray, "image head"],
    flipped: Float[np.ndarray, "image head"],
    estimate: Float[np.ndarray, "image head"],
) -> HeadImportance:
    """Of measurements of single images; `flipped`: 1 where the answer became another."""
    count = len(lost)
    half = Z * lost.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.full(lost.shape[1], np.inf)
    columns = {"lost": lost.mean(0), "half": half, "flipped": flipped.mean(0), "estimate": estimate.mean(0)}
    means = {name: tuple(map(float, values)) for name, values in columns.items()}
    most = tuple(tuple(map(int, column)) for column in np.argsort(-lost, 0, kind="stable")[:EXAMPLES].T)
    return HeadImportance(tuple(names), count, **means, examples=most)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's: the correlation of the ranks, equal values sharing the mean of theirs. NaN where all are equal."""
    from scipy.stats import spearmanr

    if min(len({*first}), len({*second})) < 2:
        return math.nan
    return float(spearmanr(first, second)[0])  # pyright: ignore[reportArgumentType]
