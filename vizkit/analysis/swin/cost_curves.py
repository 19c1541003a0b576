"""How the cost of one layer grows with the image: patches of several sizes, and windows (Liu et al. 2021)."""

from collections.abc import Sequence

import numpy as np

from vizkit.analysis.attention.patches import Cost, cost


def beside(size_px: int, stride_px: int, dim: int, window: int) -> tuple[Cost, Cost]:
    """One layer on a square image: what global attention costs, and windows, at most as large as the grid."""
    size, side = (size_px, size_px), size_px // stride_px
    return cost(size, stride_px, dim), cost(size, stride_px, dim, min(window, side))


def exponent(tokens: Sequence[float | int], values: Sequence[float | int]) -> float:
    """b of the power law value = a · tokens^b that fits best, by least squares of the logarithms: 1 is linear, 2
    quadratic. ValueError for fewer than two different numbers of tokens, or values that are not positive."""
    if len(set(tokens)) < 2 or min(*tokens, *values) <= 0:
        raise ValueError("A power law needs two different numbers of tokens and positive values.")
    return float(np.polyfit(np.log(tokens), np.log(values), 1)[0])
