"""Artifacts: a few patches of far larger norms than all others, told in every layer by two gates (Darcet et al. 2024,
arXiv 2309.16588). The first is that of `token_norms.norms_of`. The second asks, as vit-xray does with a fit of two
normal distributions, whether these patches are a group of their own, here in closed form."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.analysis.attention.token_norms import Norms

OVERLAP = 0.02


@dataclass(frozen=True)
class Artifacts:
    """Of one layer. `mask`: which patches passed both gates. `overlap`: see `overlap`. `times`: the largest norm of a
    patch, in medians."""

    mask: Bool[Tensor, " patch"]
    overlap: float
    times: float

    @property
    def count(self) -> int:
        return int(self.mask.sum())


def overlap(some: Float[Tensor, " _some"], others: Float[Tensor, " _other"]) -> float:
    """The area that two normal distributions of one deviation σ share, 0 to 1: 2 Φ(−|μ₁ − μ₂| / 2σ), with the means of
    the two groups and the deviation around them (Inman & Bradley 1989). 1 where a group is empty."""
    if not len(some) or not len(others):
        return 1.0
    apart = abs(float(some.mean() - others.mean()))
    squares = (some - some.mean()).square().sum() + (others - others.mean()).square().sum()
    deviation = math.sqrt(float(squares) / (len(some) + len(others)))
    return math.erfc(apart / max(2 * math.sqrt(2) * deviation, 1e-12))


def artifacts(norms: Norms) -> Artifacts:
    """Outliers are artifacts where the logarithms of their norms and of all others overlap by less than `OVERLAP`."""
    outliers, logarithms = norms.outliers[len(norms.special) :], norms.patches.double().clamp(min=1e-30).log()
    shared = overlap(logarithms[outliers], logarithms[~outliers])
    times = float(norms.patches.max()) / max(norms.median, 1e-12)
    return Artifacts(outliers & (shared < OVERLAP), shared, times)


def strongest(found: Sequence[Artifacts]) -> int:
    """The layer, from 0, after which artifacts stand out most; where there are none, a patch does."""
    return max(range(len(found)), key=lambda at: (found[at].count > 0, found[at].times))
