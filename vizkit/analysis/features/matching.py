"""Which patches of other images are like one, and how often that is the right place.

Nearest neighbours of dense features: Amir et al. 2021 (arXiv 2112.05814). PCK, the share of right keypoints: Yang &
Ramanan 2013. That left and right are mixed up: Zhang et al. 2024, "Telling left from right" (arXiv 2311.17034).
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

AT_ONCE = 1024  # rows of cosines that are held


def most_alike(
    asking: Float[Tensor, "asking channel"], among: Float[Tensor, "patch channel"], count: int, *, same: bool = False
) -> tuple[Int[Tensor, "asking alike"], Float[Tensor, "asking alike"]]:
    """(which patches are most alike to each, their cosines, −1 to 1), the most alike first. `same`: they are the same
    patches, of which each is left out of its own."""
    one, other = (torch.nn.functional.normalize(each.float(), dim=1) for each in (asking, among))
    ids, cosines = [], []
    for start in range(0, len(one), AT_ONCE):
        rows = one[start : start + AT_ONCE] @ other.T
        if same:
            rows[torch.arange(len(rows)), torch.arange(start, start + len(rows))] = -2.0
        best = rows.topk(min(count, len(other) - same), dim=1)
        ids.append(best.indices)
        cosines.append(best.values)
    return torch.cat(ids), torch.cat(cosines)


def matching_error(
    asking: Float[Tensor, "asking channel"], among: Float[Tensor, "patch channel"], found: Int[Tensor, " asking"]
) -> float:
    """By how much some patch is more like one that asks than the one that was found for it, as a cosine in double
    precision; 0 but for rounding."""
    one, other = (torch.nn.functional.normalize(each.double(), dim=1) for each in (asking, among))
    worst = 0.0
    for start in range(0, len(one), AT_ONCE):
        rows = one[start : start + AT_ONCE] @ other.T
        own = rows.gather(1, found[start : start + AT_ONCE, None])[:, 0]
        worst = max(worst, float((rows.amax(1) - own).max()))
    return worst


def middles(grid: tuple[int, int]) -> Float[Tensor, "patch 2"]:
    """The middle (x, y) of every patch, row by row, in shares of the image."""
    rows, columns = grid
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    return torch.stack([(x.flatten() + 0.5) / columns, (y.flatten() + 0.5) / rows], 1)


def near(found_xy: Float[Tensor, "point 2"], true_xy: Float[Tensor, "point 2"], limit: float) -> Bool[Tensor, " point"]:
    """Whether each lies at most so far from its true place; the mean is PCK."""
    return (found_xy - true_xy).norm(dim=1) <= limit + 1e-6
