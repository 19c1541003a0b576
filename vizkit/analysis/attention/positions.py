"""What a position table encodes: fixed sinusoids, and the similarities, principal colours and distances of any table.

Sinusoids: Vaswani et al. 2017 (arXiv 1706.03762), § 3.5. Cosine grid of a learned table: Dosovitskiy et al. 2020 (arXiv
2010.11929), fig. 7 centre.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.analysis.attention.head_importance import rank_correlation
from vizkit.analysis.attention.patches import fixed_sign
from vizkit.traces import NotApplicable

Size = tuple[int, int]


def sinusoidal(count: int, dim: int, base: float = 10000.0) -> Float[Tensor, "position channel"]:
    """PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i+1) = cos(pos / base^(2i/d)); between −1 and 1."""
    if dim < 2 or dim % 2:
        raise NotApplicable(f"Sines and cosines come in pairs: the number of channels has to be even, not {dim}.")
    return waves(torch.arange(count, dtype=torch.float64), dim, base).float()


def sinusoidal_2d(grid: Size, dim: int, base: float = 10000.0) -> Float[Tensor, "row column channel"]:
    """The first half of the channels encodes the row, the second half the column, each as in `sinusoidal`."""
    if dim < 4 or dim % 4:
        raise NotApplicable(f"Two halves of pairs: the number of channels has to be a multiple of four, not {dim}.")
    down = waves(torch.arange(grid[0], dtype=torch.float64), dim // 2, base)  # row channel
    across = waves(torch.arange(grid[1], dtype=torch.float64), dim // 2, base)  # column channel
    half = (grid[0], grid[1], dim // 2)
    return torch.cat([down[:, None].expand(half), across[None].expand(half)], -1).float()


def waves(position: Float[Tensor, " position"], dim: int, base: float = 10000.0) -> Float[Tensor, "position channel"]:
    """At any places, also between two positions: sine and cosine alternate, slower from pair to pair."""
    angle = position[:, None] / base ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def similarity(table: Float[Tensor, "position channel"]) -> Float[Tensor, "position position2"]:
    """Cosine, −1 to 1, of every position's vector with every other's."""
    table = torch.nn.functional.normalize(table.float(), dim=-1)
    return table @ table.T


def similarity_to(table: Float[Tensor, "position channel"], position: int) -> Float[Tensor, " position"]:
    """Cosine, −1 to 1, of one position's vector with every other's: a row of `similarity`, without its n² numbers."""
    table = torch.nn.functional.normalize(table.float(), dim=-1)
    return table @ table[position]


def cosine_grid(table: Float[Tensor, "row column channel"]) -> Float[Tensor, "row column row2 column2"]:
    """S[r, c, r', c'] = cos(e_rc, e_r'c'): tile (r, c) shows how alike its position is to all others, −1 to 1.

    Patches only; cosine, not dot product, so that vectors of different length compare. Equal vectors say that the model
    cannot tell two places apart by position alone, not that it treats them alike.
    """
    rows, columns, _ = table.shape
    return similarity(table.flatten(0, 1)).view(rows, columns, rows, columns)


def nearness(table: Float[Tensor, "row column channel"]) -> float:
    """Spearman's correlation, over all pairs of places, of the cosine of their vectors with minus their distance on the
    grid: 1 where nearer is always more alike, about 0 for noise."""
    rows, columns, _ = table.shape
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).double()
    first, second = torch.triu_indices(len(places), len(places), 1)
    apart = (places[first] - places[second]).norm(dim=-1)
    alike = similarity(table.flatten(0, 1))[first, second].double().round(decimals=6)  # equal ones have equal ranks
    return rank_correlation(alike.tolist(), (-apart).tolist())


@dataclass(frozen=True)
class ByDistance:
    """The mean of all pairs that lie `distance` apart, in steps of the grid."""

    distance: Float[Tensor, " distance"]
    mean: Float[Tensor, " distance"]


def by_distance(
    values: Float[Tensor, "query place"], grid: tuple[int, ...], asking: Int[Tensor, " query"] | None = None
) -> ByDistance:
    """Values of pairs against their distance, |i − j| for a sequence, Euclidean for a grid, where pairs whose distance
    rounds to the same number of steps stand together. `asking`: the places of the queries, of not all."""
    places = torch.cartesian_prod(*(torch.arange(side, dtype=torch.float32) for side in grid)).reshape(-1, len(grid))
    steps = torch.cdist(places if asking is None else places[asking], places).round().long().flatten()
    count, total = (torch.bincount(steps, weights) for weights in (None, values.double().flatten()))
    assert count is not None
    there = count.nonzero().flatten()
    return ByDistance(there.float(), (total[there] / count[there]).float())


@dataclass(frozen=True)
class Colours:
    """The first three principal components of a table as red, green and blue, each from 0 to 1, and the share of the
    variance that they explain. Components that do not exist are 0.5 everywhere."""

    rgb: Float[Tensor, "row column 3"]
    explained: Float[Tensor, " 3"]


def pca_rgb(table: Float[Tensor, "row column channel"]) -> Colours:
    """Places with like colours have like position vectors; which colour means which is arbitrary but repeatable."""
    flat = table.flatten(0, 1).double()
    mean, directions, explained = components(flat)
    scores = (flat - mean) @ directions.T
    return Colours(stretched(scores, scores.amin(0), scores.amax(0)).view(*table.shape[:2], 3), explained.float())


def components(
    vectors: Float[Tensor, "vector channel"],
) -> tuple[Float[Tensor, " channel"], Float[Tensor, "3 channel"], Float[Tensor, "3"]]:
    """(the mean, the first three principal directions around it, the share of the variance that each explains, 0 to 1),
    in double precision; zeros for directions that do not exist."""
    flat = vectors.double()
    mean = flat.mean(0)
    _, spread, directions = torch.linalg.svd(flat - mean, full_matrices=False)
    count = min(3, len(directions))
    first, explained = flat.new_zeros(3, flat.shape[1]), flat.new_zeros(3)
    first[:count] = fixed_sign(directions[:count])
    explained[:count] = spread[:count] ** 2 / (spread**2).sum().clamp(min=torch.finfo(torch.float64).tiny)
    return mean, first, explained


def stretched(
    scores: Float[Tensor, "vector 3"], low: Float[Tensor, "3"], high: Float[Tensor, "3"]
) -> Float[Tensor, "vector 3"]:
    """Red, green and blue, 0 at `low` and 1 at `high`, of each component."""
    # A component that hardly varies is rounding noise; stretched to full colour it would look like structure.
    flatness = high - low <= 1e-6 * (high - low).max().clamp(min=1e-12)
    return torch.where(flatness, 0.5, (scores - low) / torch.where(flatness, 1.0, high - low)).clamp(0, 1).float()


def depth_beside(share: float, blocks: int) -> int:
    """Which of so many blocks, counted from 1, ends nearest to a share, above 0 to 1, of the depth, the later of two
    that are as near; the first at least, and the last at most."""
    return min(max(1, math.floor(share * blocks + 0.5)), blocks)
