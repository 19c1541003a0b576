"""Fixed positions: sines and cosines of slower and slower waves (Vaswani et al. 2017, arXiv 1706.03762, § 3.5)."""

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["sinusoids", "sinusoids_2d"]


def sinusoids(count: int, dim: int) -> Float[Tensor, "position {dim}"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)); all within ±1."""
    if dim % 2:
        raise ValueError(f"Sines and cosines come in pairs, but there are {dim} channels.")
    slowness = 10000 ** (torch.arange(0, dim, 2) / dim)
    angle = torch.arange(count)[:, None] / slowness
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def sinusoids_2d(grid: tuple[int, int], dim: int) -> Float[Tensor, "cell {dim}"]:
    """Half of the channels encode a cell's row, the other half its column (Dosovitskiy et al. 2020, appendix D.4)."""
    if dim % 4:
        raise ValueError(f"Rows and columns need pairs of their own, but {dim} channels are no multiple of 4.")
    rows, columns = (sinusoids(side, dim // 2) for side in grid)
    return torch.cat([rows.repeat_interleave(grid[1], 0), columns.repeat(grid[0], 1)], 1)
