"""How large a field is, as a number: the square around its middle that holds a share of it."""

import torch
from jaxtyping import Float
from torch import Tensor

MOST = 0.68
"""The share that tells how wide a field is: of a Gaussian along one axis what lies within one standard deviation."""


def side_holding(share: Float[Tensor, "height width"], centre_yx: tuple[float, float], held: float) -> float:
    """Side in pixels of the smallest square around `centre_yx` (pixels, 0 the edge, ½ the first pixel's centre) whose
    pixels hold `held` (0 to 1) of the sum. A pixel counts as soon as its own centre lies inside."""
    rows, columns = (torch.arange(side) + 0.5 for side in share.shape)
    away = torch.maximum((rows - centre_yx[0]).abs()[:, None], (columns - centre_yx[1]).abs()[None])
    order = away.flatten().argsort()
    held_by_then = share.flatten()[order].double().cumsum(0)
    last = int((held_by_then < held * held_by_then[-1] * (1 - 1e-9)).sum())
    return 2 * float(away.flatten()[order[min(last, len(order) - 1)]]) + 1
