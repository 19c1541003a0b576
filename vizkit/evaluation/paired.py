"""Is model A better than model B? Tested on the same pictures, of which only those on which they differ count.

McNemar's test, exact (McNemar 1947; Dietterich 1998): among the pictures that one of the two has right and the other
wrong, is A the right one more often than a fair coin? Where there are several pairs, Holm's correction (Holm 1979).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Bool

from vizkit.analysis.comparison.holm import holm
from vizkit.evaluation.measures import Interval, mean_interval

ALPHA = 0.05


@dataclass(frozen=True)
class Pair:
    """Two models, A the one with more right answers. `only_a`: pictures that A alone has right. `difference`: of the
    accuracies, with its paired bootstrap interval. `p`: two-sided; `corrected`: after Holm, for all `pairs`."""

    a: str
    b: str
    images: int
    only_a: int
    only_b: int
    difference: Interval
    p: float
    corrected: float
    pairs: int

    @property
    def significant(self) -> bool:
        return self.corrected < ALPHA

    @property
    def chance(self) -> str:
        return _chance(self.corrected)

    @property
    def sentence(self) -> str:
        """What may be said of the two, in plain words."""
        points = [100 * value for value in (self.difference.value, self.difference.low, self.difference.high)]
        alone = f"alone right on {self.only_a:,} and {self.only_b:,} of {self.images:,} images"
        holm = f", after Holm for {self.pairs} pairs {self.chance}" if self.pairs > 1 else ""
        facts = (
            f"{points[0]:+.1f} percentage points (95 % interval {points[1]:+.1f} to {points[2]:+.1f}); {alone}; "
            f"exact McNemar {_chance(self.p)}{holm}."
        ).replace("-", "−")
        if self.significant:
            return f"{self.a} is better than {self.b} on images like these: {facts}"
        if not self.only_a + self.only_b:
            return f"{self.a} and {self.b} are right on exactly the same images, so these show no difference."
        return f"On these images {self.a} and {self.b} do not differ significantly: {facts}"


def compare(
    right: Mapping[str, Bool[np.ndarray, " image"]], seed: int = 0, known: Sequence[Pair] = ()
) -> tuple[Pair, ...]:
    """Every two of the models, by name; the arrays say of the same images which answers were right. `known`: pairs of
    these models that have been tested already."""
    tested = {frozenset((pair.a, pair.b)): pair for pair in known}
    pairs = [
        tested.get(frozenset((a, b))) or _one_pair(a, b, right[a], right[b], seed) for a, b in combinations(right, 2)
    ]
    return among(pairs, list(right))


def among(pairs: Sequence[Pair], names: Sequence[str]) -> tuple[Pair, ...]:
    """Those of two of these models, corrected for as many as they are."""
    kept = [pair for pair in pairs if pair.a in names and pair.b in names]
    corrected = holm([pair.p for pair in kept])
    return tuple(replace(pair, corrected=p, pairs=len(kept)) for pair, p in zip(kept, corrected, strict=True))


def _one_pair(a: str, b: str, right_a: np.ndarray, right_b: np.ndarray, seed: int) -> Pair:
    if right_b.sum() > right_a.sum():
        a, b, right_a, right_b = b, a, right_b, right_a
    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    gained = right_a.astype(np.float32) - right_b.astype(np.float32)
    p = mcnemar(only_a, only_b)
    return Pair(a, b, len(right_a), only_a, only_b, mean_interval(gained, seed), p, p, 1)


def of_counts(a: str, b: str, images: int, right_a: int, right_b: int, both: int) -> Pair:
    """The same where only the counts are kept; `both`: images that both have right."""
    row = np.arange(images)
    return _one_pair(a, b, row < right_a, (row < both) | ((row >= right_a) & (row < right_a + right_b - both)), 0)


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided exact p of the discordant pairs; 1 where there are none."""
    from scipy.stats import binomtest

    return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0


def _chance(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}" if p < 0.1 else f"p = {p:.2f}"
