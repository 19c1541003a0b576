"""Maps of several models, of several images and by several methods in one unit, and their mean."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from vizkit.traces import Map

STRONGEST = 0.1  # of the places


def times_equal(heat: Map) -> Map:
    """How many times the value that every place would have if all had the same: x / mean |x|, whatever the unit and the
    grid. Of a map without any value itself."""
    mean = heat.abs().mean()
    return heat / mean if float(mean) else heat


def average(maps: Sequence[Float[Tensor, "_row _column"]]) -> Map:
    """The mean, place by place, on the grid of the first; others are laid onto it by area."""
    return torch.stack([laid(each, maps[0].shape) for each in maps]).mean(0)


def laid(heat: Map, grid: Sequence[int]) -> Float[Tensor, "row2 column2"]:
    """On another grid, (rows, columns): the mean over the area of each of its places."""
    return F.interpolate(heat[None, None], tuple(grid), mode="area")[0, 0]


def strongest(heat: Map) -> float:
    """Which share of what is above 0 lies on the strongest tenth of the places, one at least; 0 of an empty map."""
    values = heat.clamp(min=0).flatten().sort(descending=True).values
    total = float(values.sum())
    return float(values[: max(1, round(STRONGEST * len(values)))].sum()) / total if total else 0.0
