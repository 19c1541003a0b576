"""What is left of a model's answers when more and more heads are taken away (Michel et al. 2019, arXiv 1905.10650,
§ 4: iterative pruning, in one order that is not measured again on the way)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

ORDERS = ("measured", "estimate", "random")
RANDOM = 3  # orders
STEPS = 8
Curves = Mapping[str, tuple[tuple[float, ...], ...]]


class Pruning(NamedTuple):
    """At each of `counts` heads taken away, the least important first: the share of images that keep their `own`
    answer, and the share of right answers, `right`, empty where the classes of the images are others. By order: one
    curve, of random orders several."""

    heads: int
    images: int
    counts: tuple[int, ...]
    own: Curves
    right: Curves


def counts_of(heads: int) -> tuple[int, ...]:
    """How many heads are taken away at each step: none to all, at most 9 numbers."""
    return tuple(sorted({round(heads * step / STEPS) for step in range(STEPS + 1)}))


def orders_of(lost: Sequence[float], estimate: Sequence[float], seed: int = 0) -> dict[str, list[list[int]]]:
    """The heads in the order in which they go, by each of ORDERS."""
    rng = np.random.default_rng(seed)
    by = {
        name: [np.argsort(values, kind="stable").tolist()]
        for name, values in (("measured", lost), ("estimate", estimate))
    }
    return by | {"random": [rng.permutation(len(lost)).tolist() for _ in range(RANDOM)]}


def band(curves: Sequence[Sequence[float]]) -> tuple[list[float], list[float], list[float]]:
    """(mean, lowest, highest) at every step."""
    values = np.array(curves)
    return values.mean(0).tolist(), values.min(0).tolist(), values.max(0).tolist()


def still(counts: Sequence[int], curve: Sequence[float], share: float) -> int:
    """The most heads that can go with at least this share left, at no step before below it; 0 where none can."""
    kept = [count for at, count in enumerate(counts) if min(curve[: at + 1]) >= share]
    return max(kept, default=0)
