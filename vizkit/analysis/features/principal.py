"""The patches of several images in the colours of their three main directions, one basis for all.

The figure of DINOv2 (Oquab et al. 2023, arXiv 2304.07193, fig. 1), with what it leaves open settled: a direction points
to the foreground, a few far longer patches have no say in it, and colours end at percentiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.analysis.attention.positions import components, stretched
from vizkit.traces import Map

PERCENTILES = (0.01, 0.99)
"""Of each component the scores that have no and full colour; beyond them it stays so."""


@dataclass(frozen=True)
class Principal:
    """`scores` of every image (row, column, 3) in the basis `directions` around `mean`; `rgb` the same as colours, 0 to
    1; `explained`: the share of the variance of each component; `clipped`: places whose colour is at an end because
    they lie beyond it. `error`: see `basis_error`."""

    scores: tuple[Float[Tensor, "row column 3"], ...]
    rgb: tuple[Float[Tensor, "row column 3"], ...]
    explained: Float[Tensor, "3"]
    mean: Float[Tensor, " channel"]
    directions: Float[Tensor, "3 channel"]
    clipped: int
    error: float


def principal(
    images: Sequence[Float[Tensor, "row column channel"]],
    foreground: Sequence[Map],
    outliers: Sequence[Bool[Tensor, "row column"]],
) -> Principal:
    """`foreground`: any weights ≥ 0 of the same places: the sign of each component is that of its covariance with them,
    so an orthogonal change of all vectors changes nothing. `outliers`: places that are left out of the basis."""
    flat = torch.cat([each.flatten(0, 1) for each in images]).double()
    usual = ~torch.cat([each.flatten() for each in outliers])
    mean, directions, explained = components(flat[usual])
    weights = torch.cat([each.flatten() / each.mean().clamp(min=1e-30) for each in foreground]).double()
    scores = (flat - mean) @ directions.T
    towards = (weights - weights[usual].mean())[usual] @ scores[usual]
    sign = torch.where(towards < 0, -1.0, 1.0).double()
    scores, directions = scores * sign, directions * sign[:, None]
    low, high = scores[usual].quantile(torch.tensor(PERCENTILES, dtype=torch.float64), dim=0)
    clipped = int(((scores < low) | (scores > high)).any(1).sum())
    sizes = [each.shape[0] * each.shape[1] for each in images]

    def cut(of_all: Tensor) -> tuple[Tensor, ...]:
        parts = of_all.float().split(sizes)
        return tuple(part.view(*each.shape[:2], 3) for part, each in zip(parts, images, strict=True))

    error = basis_error(flat[usual], mean, directions, explained)
    return Principal(cut(scores), cut(stretched(scores, low, high)), explained, mean, directions, clipped, error)


def told_apart(groups: Sequence[Float[Tensor, "_patch 3"]]) -> float:
    """Of each group the share of its colours to which its own mean colour is the nearest of all, in the mean of the
    groups; by chance 1 of their number."""
    means = torch.stack([each.mean(0) for each in groups])
    own = [(torch.cdist(each, means).argmin(1) == at).float().mean() for at, each in enumerate(groups)]
    return float(torch.stack(own).mean())


def basis_error(
    vectors: Float[Tensor, "vector channel"],
    mean: Float[Tensor, " channel"],
    directions: Float[Tensor, "3 channel"],
    explained: Float[Tensor, "3"],
) -> float:
    """How far scores are from what principal components are, measured on the vectors themselves: uncorrelated, each
    with the share of the variance that is said of it, and nothing of it left once they are taken away. Shares of the
    whole variance; 0 but for rounding."""
    centred = vectors.double() - mean.double()
    whole = float((centred**2).sum()) or 1.0
    scores = centred @ directions.double().T
    rest = centred - scores @ directions.double()
    shares = scores.T @ scores / whole
    missing = float((rest**2).sum()) / whole - (float((centred**2).sum()) / whole - float(explained.sum()))
    return max(float((shares - torch.diag(explained.double())).abs().max()), abs(missing))
