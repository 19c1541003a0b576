"""The accuracy of several seeds on one test set, and the difference of two methods, with their 95 % intervals.

A mean over n seeds is uncertain for two reasons: other seeds would come out differently, variance s² / n, and other
test images would, p (1 − p) / N. Both are added, and Student's t with the degrees of freedom of Welch and
Satterthwaite turns the sum into an interval: (V_seeds + V_test)² / (V_seeds² / (n − 1)). Three seeds that agree give
about ± 2 standard errors, three that do not about ± 4.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.975  # of Student's t, for 95 % in the middle


@dataclass(frozen=True)
class Estimate:
    """A share or a difference of shares, −1 to 1, ± `half` of its 95 % interval, from so many `seeds`; with one seed
    the interval holds the test images' part alone. `degrees`: of freedom, of Student's t."""

    mean: float
    half: float
    seeds: int
    degrees: float = math.inf

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half

    @property
    def differs(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0

    @property
    def p(self) -> float:
        """Two-sided, of no difference: below 0.05 where the interval leaves zero out."""
        from scipy.special import stdtr, stdtrit

        if not self.half:
            return float(not self.mean)
        return 2 * float(stdtr(self.degrees, -abs(self.mean) / self.half * stdtrit(self.degrees, LEVEL)))


def accuracy(by_seed: Mapping[int, float], images: int) -> Estimate:
    """Of shares 0 to 1, one for each of 1 or more seeds, of the same `images` test images."""
    shares = list(by_seed.values())
    mean = sum(shares) / len(shares)
    return _estimate(shares, mean * (1 - mean) / images)


def difference(by_seed: Mapping[int, float], other: Mapping[int, float], images: int) -> Estimate | None:
    """The first minus the other, seed by seed; None where they have no seed in common.

    The test images count as if each method had its own, which is on the safe side, for they share them.
    """
    seeds = sorted(by_seed.keys() & other.keys())
    if not seeds:
        return None
    means = [sum(shares[seed] for seed in seeds) / len(seeds) for shares in (by_seed, other)]
    return _estimate([by_seed[seed] - other[seed] for seed in seeds], sum(p * (1 - p) for p in means) / images)


def _estimate(values: Sequence[float], of_test: float) -> Estimate:
    from scipy.special import stdtrit

    count = len(values)
    mean = sum(values) / count
    of_seeds = sum((value - mean) ** 2 for value in values) / (count - 1) / count if count > 1 else 0.0
    degrees = (of_seeds + of_test) ** 2 / (of_seeds**2 / (count - 1)) if of_seeds else math.inf
    return Estimate(mean, float(stdtrit(degrees, LEVEL)) * math.sqrt(of_seeds + of_test), count, degrees)
