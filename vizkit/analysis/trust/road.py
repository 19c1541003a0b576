"""ROAD, "remove and debias": deletion that leaves no holes.

Rong et al. 2022 (arXiv 2202.00449), § 4: removed pixels are imputed from their neighbours, each as a weighted mean of
the eight around it (1/6 beside, 1/12 across), plus a little noise, so that the shape of what was removed does not
itself tell the class. The most relevant are removed first (MoRF), or the least relevant (LeRF).

Whole cells are removed here, as in `deletion`. In a large hole the imputation is only a smooth gradient: at high shares
the image is again one that the model never saw.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.analysis.attribution.subject import Progress, Subject, cell_of_pixel
from vizkit.analysis.trust.deletion import order_of
from vizkit.geometry import size_of
from vizkit.traces import Map

SHARES = (0.2, 0.4, 0.6, 0.8)
NOISE = 0.01  # standard deviation, of the range of the input's values; Rong et al. § 4.3
CLOSE = 1e-3  # residual of the imputation, relative; far below the noise


@dataclass(frozen=True)
class Road:
    """Probability of the class, 0 to 1, after removing `share` of the cells, most relevant first or last."""

    share: Float[Tensor, " step"]
    most_relevant_first: Float[Tensor, " step"]
    least_relevant_first: Float[Tensor, " step"]

    @property
    def gap(self) -> float:
        """Mean of LeRF − MoRF, −1 to 1: larger is better, about 0 for a random map."""
        return float((self.least_relevant_first - self.most_relevant_first).mean())


def road(
    subject: Subject,
    heat: Map,
    cells: tuple[int, int],
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Road:
    """Both curves of one map: two forward passes for each share."""
    order, count = order_of(heat, cells), cells[0] * cells[1]
    rank = order.argsort()
    ends = [round(share * count) for share in shares]
    gone = torch.stack([*(rank < end for end in ends), *(rank >= count - end for end in ends)])
    pixels = subject.pixels
    index = cell_of_pixel(size_of(pixels), cells)
    missing = gone[:, index][:, None].to(pixels.device)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(missing.shape[0], *pixels.shape[1:], generator=generator).to(pixels)
    noise *= NOISE * float(pixels.max() - pixels.min())
    scores = []
    for first in range(0, len(missing), subject.batch):
        rows = slice(first, first + subject.batch)
        whole = imputed(pixels, missing[rows])
        scores.append(subject.share(torch.where(missing[rows], whole + noise[rows], whole)).cpu())
        if progress:
            progress(min(first + subject.batch, len(missing)), len(missing))
    first_gone, last_gone = torch.cat(scores).unflatten(0, (2, len(ends)))
    return Road(torch.tensor(ends) / count, first_gone, last_gone)


def imputed(
    pixels: Float[Tensor, "1 channel height width"], missing: Bool[Tensor, "image 1 height width"]
) -> Float[Tensor, "image channel height width"]:
    """Missing pixels such that each is the weighted mean of the neighbours inside the image; the others untouched.

    The linear system is symmetric and positive definite wherever something is left, so conjugate gradients solve it.
    """
    if bool(missing.flatten(1).all(1).any()):
        raise ValueError("Every pixel is missing: nothing is left to impute from.")

    def neighbours(values: Tensor) -> Tensor:
        """[1 2 1] down and across, without the middle: a third of the time of a convolution."""
        padded = F.pad(values, (1, 1, 1, 1))
        down = (padded[..., :-2, :] + padded[..., 2:, :]).add_(padded[..., 1:-1, :], alpha=2)
        across = (down[..., :-2] + down[..., 2:]).add_(down[..., 1:-1], alpha=2)
        return across.sub_(values, alpha=4).div_(12)

    weight = neighbours(torch.ones_like(pixels[:, :1]))  # below 1 on the edge of the picture
    known = pixels * ~missing
    level = known.sum((2, 3), keepdim=True) / (~missing).sum((2, 3), keepdim=True)
    solution = torch.where(missing, level, 0.0)  # zero outside the hole, and so is every vector below
    residual = (neighbours(known) - weight * solution + neighbours(solution)) * missing
    goal = CLOSE * residual.norm() + 1e-12
    direction, power = residual, (residual**2).sum((2, 3), keepdim=True)
    for _ in range(4 * sum(pixels.shape[-2:])):
        if residual.norm() <= goal:
            break
        applied = (weight * direction - neighbours(direction)) * missing
        step = power / (direction * applied).sum((2, 3), keepdim=True).clamp(min=1e-30)
        solution, residual = solution + step * direction, residual - step * applied
        power, before = (residual**2).sum((2, 3), keepdim=True), power
        direction = residual + power / before.clamp(min=1e-30) * direction
    return known + solution
