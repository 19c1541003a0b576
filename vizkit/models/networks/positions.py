"""Fixed positions: sines and cosines of slower and slower waves (Vaswani et al. 2017, arXiv 1706.03762, § 3.5)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

FAR, NEAR = 10_000.0, 20.0
"""Temperatures of the positions. The paper's is made for texts of thousands of words: within one image most of its
channels hardly change. Queries that look at places want neighbours told apart (Liu et al. 2022, § 4.4)."""


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


def point_positions(
    points_xy: Float[Tensor, "*batch 2"], dim: int, temperature: float = FAR
) -> Float[Tensor, "*batch {dim}"]:
    """Sines and cosines of a place, x and y as shares of the image: half of the channels for y, then half for x
    (Carion et al. 2020, appendix A.4)."""
    if dim % 4:
        raise ValueError(f"Rows and columns need pairs of their own, but {dim} channels are no multiple of 4.")
    slowness = temperature ** (torch.arange(0, dim // 2, 2, device=points_xy.device) / (dim // 2))
    angle = points_xy.flip(-1)[..., None] * 2 * math.pi / slowness
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-3).to(points_xy.dtype)


def cell_positions(grid: tuple[int, int], dim: int, temperature: float = FAR) -> Float[Tensor, "cell {dim}"]:
    """Of the cells of a grid row by row; the last row and column lie at 1, as in the authors' code."""
    rows, columns = ((torch.arange(side) + 1) / (side + 1e-6) for side in grid)
    return point_positions(points_of(rows, columns), dim, temperature)


def cell_middles(grid: tuple[int, int]) -> Float[Tensor, "cell 2"]:
    """x and y of the cells of a grid row by row, as shares of the image."""
    return points_of(*((torch.arange(side) + 0.5) / side for side in grid))


def points_of(rows: Float[Tensor, " row"], columns: Float[Tensor, " column"]) -> Float[Tensor, "cell 2"]:
    """x and y of the cells of these rows and columns, row by row."""
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack([x, y], -1).flatten(0, 1)
