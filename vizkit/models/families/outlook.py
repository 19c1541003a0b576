"""Outlook attention (VOLO, Yuan et al. 2021, § 3.1): a linear layer, not a product, writes the weights.

Around every centre lies a window of k × k places. The centre's token gives k² rows of k² weights: row r is the share of
place r of the window, weight s what it takes from the value at place s of the same window. Windows overlap, and what
several give to one place is added up. So the places of a window are its queries and its keys alike.
"""

from dataclasses import replace
from math import prod

import torch
from torch import Tensor, nn

from vizkit.models.recording.recorder import Call
from vizkit.traces import PADDING

Grid = tuple[int, int]

OUTLOOK = "timm.models.volo.OutlookAttention"


def windows(model: nn.Module, call: Call, grid: Grid) -> tuple[Grid, Tensor, Grid, Tensor] | None:
    """The places of every window, as queries and as keys; PADDING beyond the border."""
    size, step, rim = (int(getattr(call.module, name)) for name in ("kernel_size", "stride", "padding"))
    if step > size or min(grid) + 2 * rim < size:
        return None
    ids = windows_of(grid, size, step, rim)
    return grid, ids, grid, ids


def windows_of(grid: Grid, size: int, step: int, rim: int) -> Tensor:
    """The ids in every square of `size` places, `step` apart, of a grid with a rim of PADDING; (window, place)."""
    places = torch.nn.functional.pad(torch.arange(prod(grid)).view(grid), (rim,) * 4, value=PADDING)
    return places.unfold(0, size, step).unfold(1, size, step).flatten(2).flatten(0, 1)


def by_place(call: Call, ids: Tensor, grid: Grid) -> tuple[Call, Tensor, Tensor]:
    """The call with one group for each place: the mean of its rows in all windows, over its (2k − 1)² neighbours.

    `ids`: as from `windows`. Gives also the ids of queries and keys. The layer's output at a place is Σ weights ·
    values, times the number of windows over it. A gradient is that of the mean.
    """
    assert call.weights is not None
    size = round(ids.shape[1] ** 0.5)
    neighbours = windows_of(grid, 2 * size - 1, 1, size - 1)

    def summed(rows: Tensor) -> Tensor:  # (window, head, place, place) → (place, head, 1, neighbour)
        return spread(rows, ids, len(neighbours), size)

    covering = torch.bincount(ids[ids != PADDING], minlength=len(neighbours)).to(call.weights)[:, None, None, None]
    gradient = call.gradient
    if gradient is not None:  # ∂/∂weight is the same in all windows: that of the values it is multiplied with
        gradient = summed(gradient) / summed(torch.ones_like(gradient)).clamp(min=1) * covering
    merged = replace(call, weights=summed(call.weights) / covering, gradient=gradient)
    return merged, torch.arange(len(neighbours))[:, None], neighbours


def spread(rows: Tensor, ids: Tensor, places: int, size: int) -> Tensor:
    """Add up rows (window, head, query, key) by their query's place and the key's place relative to it."""
    offset = torch.cartesian_prod(torch.arange(size), torch.arange(size))
    down, right = (offset[None] - offset[:, None] + size - 1).unbind(-1)  # of the key from the query, from 0
    width = (2 * size - 1) ** 2
    # One spare place collects the queries beyond the border and is cut off.
    index = (ids % (places + 1))[:, :, None] * width + down * (2 * size - 1) + right
    out = rows.new_zeros(rows.shape[1], (places + 1) * width)
    out.index_add_(1, index.flatten().to(rows.device), rows.transpose(0, 1).flatten(1))
    return out.view(-1, places + 1, width)[:, :places].transpose(0, 1)[:, :, None]
