"""The image as a sequence: patches, what they cost, and the filters that read them.

Dosovitskiy et al. 2020 (arXiv 2010.11929), eq. 1 and fig. 7 left; costs after Liu et al. 2021 (arXiv 2103.14030), eq. 1
and 2.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.traces import NotApplicable

Size = tuple[int, int]


def fitting_sizes(size: int, patch: int) -> tuple[int, int]:
    """The nearest lengths in pixels, not above and not below `size`, that patches of `patch` pixels divide."""
    below, above = size // patch * patch, -(-size // patch) * patch
    return max(below, patch), max(above, patch)


def grid_of(size_hw: Size, patch: int) -> Size:
    """(rows, columns) of the patches; NotApplicable names the nearest sizes when they do not fit."""
    if patch < 1 or min(size_hw) < 1:
        raise NotApplicable(f"Patches of {patch} pixels cannot be cut from {size_hw[0]}×{size_hw[1]} pixels.")
    for side, size in zip(("height", "width"), size_hw, strict=True):
        if size % patch:
            below, above = fitting_sizes(size, patch)
            nearest = f"{below} or {above}" if below != above else f"{above}"
            raise NotApplicable(
                f"Patches of {patch} pixels do not divide a {side} of {size} pixels; the nearest that works: {nearest}."
            )
    return size_hw[0] // patch, size_hw[1] // patch


def patchify(pixels: Tensor, patch: int) -> Tensor:
    """(channel, height, width) → (patch, channel·patch²): patches row by row, each flattened channel, row, column.

    The order of a convolution's weight, so that `patchify(x) @ weight.flatten(1).T` is the convolution with kernel and
    stride `patch`. Any dtype.
    """
    channels, height, width = pixels.shape
    rows, columns = grid_of((height, width), patch)
    cut = pixels.reshape(channels, rows, patch, columns, patch).permute(1, 3, 0, 2, 4)  # row column channel y x
    return cut.reshape(rows * columns, channels * patch * patch)


def unpatchify(patches: Tensor, grid: Size, patch: int) -> Tensor:
    """The way back: (patch, channel·patch²) → (channel, height, width)."""
    rows, columns = grid
    cut = patches.reshape(rows, columns, -1, patch, patch).permute(2, 0, 3, 1, 4)  # channel row y column x
    return cut.reshape(-1, rows * patch, columns * patch)


def permutation(count: int, seed: int) -> Int[Tensor, " patch"]:
    """A random order of `count` patches, the same for the same seed."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def exchanged(order: Int[Tensor, " patch"], pairs: Iterable[tuple[int, int]]) -> Int[Tensor, " patch"]:
    """The patches of two places exchanged, pair after pair; one that is not there changes nothing."""
    order = order.clone()
    for pair in pairs:
        if max(pair) < len(order):
            order[[*pair]] = order[[*reversed(pair)]]
    return order


def shuffle(pixels: Tensor, patch: int, order: Int[Tensor, " patch"]) -> Tensor:
    """(channel, height, width) with its patches rearranged: place i shows patch `order[i]`."""
    grid = grid_of((pixels.shape[1], pixels.shape[2]), patch)
    return unpatchify(patchify(pixels, patch)[order], grid, patch)


@dataclass(frozen=True)
class Cost:
    """Of one layer. `compared`: to how many tokens each attends. `attention` and `mlp`: multiply–adds of its two parts,
    projections included."""

    grid: Size
    tokens: int
    compared: int
    attention: int
    mlp: int

    @property
    def pairs(self) -> int:
        """That one head compares."""
        return self.tokens * self.compared

    @property
    def layer(self) -> int:
        """Multiply–adds of the whole layer."""
        return self.attention + self.mlp


def cost(size_hw: Size, patch: int, dim: int, window: int | None = None, special: int = 0) -> Cost:
    """What one layer costs: 4·hw·C² + 2·(hw)²·C for global attention, 4·hw·C² + 2·M²·hw·C for windows of M×M tokens,
    and 8·hw·C² for an MLP that is four times as wide as a token.

    hw counts the patches and `special` tokens; the padding of windows that do not divide the grid is left out, as in
    the paper.
    """
    grid = grid_of(size_hw, patch)
    tokens = grid[0] * grid[1] + special
    seen = tokens if window is None else window * window
    attention = 4 * tokens * dim * dim + 2 * seen * tokens * dim
    return Cost(grid, tokens, seen, attention, 8 * tokens * dim * dim)


def main_patterns(
    weight: Float[Tensor, "dim channel height width"], count: int
) -> Float[Tensor, "_ channel height width"]:
    """The first principal components of the filters of a patch embedding (Dosovitskiy et al. 2020, fig. 7 left), of
    length one; fewer where they span fewer directions.

    The sign of a component is free; the number that is largest in size is made positive, so that figures repeat.
    """
    flat = weight.flatten(1).double()
    directions = torch.linalg.svd(flat - flat.mean(0), full_matrices=False).Vh
    count = min(count, len(directions), flat.shape[0] - 1)  # n filters span n − 1 directions around their mean
    return fixed_sign(directions[:count]).view(count, *weight.shape[1:]).float()


def fixed_sign(directions: Float[Tensor, "component number"]) -> Float[Tensor, "component number"]:
    """Every row times ±1, so that its number of largest size is positive."""
    largest = directions.gather(1, directions.abs().argmax(1, keepdim=True))
    return directions * torch.where(largest < 0, -1.0, 1.0)
