"""What the methods that run the model again need of it: the logits of any images, and the class to explain.

`vizkit.models.probes.model_functions.logits_of_batch` makes the callable; nothing here knows a model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.heads import ITSELF, SOFTMAX, Head, scorer
from vizkit.traces import Map, NotApplicable, Trace

Progress = Callable[[int, int], None]
"""Called often with (passes done, passes in all); raises `Stopped` to end the work."""

Fill = Literal["mean", "blur"]
"""What stands where something is taken away: the image's own mean colour, or the image blurred by a Gaussian of a
tenth of its shorter side. Neither is an image that the model was trained on."""

MOST_CELLS = 400


class Stopped(Exception):  # noqa: N818  (the wish of a user, not an error)
    """The user wants no more of this; a `progress` raises it, and it passes through to the caller."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A model that can be run again, its input, and the class whose logit is explained, or what else its `head` gives.

    `logits`: (image, channel, height, width) → (image, label), differentiable with respect to the pixels. `against`:
    explain the difference of the two logits instead; only classes that exclude one another have rivals, NotApplicable
    otherwise. `batch`: images in one forward pass.
    """

    logits: Callable[[Tensor], Tensor]
    pixels: Float[Tensor, "1 channel height width"]
    target: int
    against: int | None = None
    batch: int = 32
    head: Head = SOFTMAX

    def __post_init__(self) -> None:
        if self.against is not None and not self.head.exclusive:
            raise NotApplicable(f"This model gives {self.head.gives}, so nothing is explained against another.")

    @cached_property
    def _score_of(self) -> Callable[[Tensor], Tensor]:
        """An embedding is measured along its own direction, for which the image is run once."""
        if self.target != ITSELF:
            return scorer(self.pixels, self.target)
        with torch.no_grad():
            return scorer(self.logits(self.pixels)[0], ITSELF)

    def score(self, pixels: Float[Tensor, "image channel height width"]) -> Float[Tensor, " image"]:
        """The target's logit or value (`heads.scorer`), less that of the other class; in the graph of `pixels`."""
        logits = self.logits(pixels)
        first = self._score_of(logits)
        return first if self.against is None else first - logits[:, self.against]

    def share(self, pixels: Float[Tensor, "image channel height width"]) -> Float[Tensor, " image"]:
        """The target's probability, 0 to 1: among all classes, or among the two; or its likeness. No graph, one batch.

        NotApplicable where the head gives neither."""
        if not self.head.bounded:
            raise NotApplicable(f"This model gives {self.head.gives}, so there is no probability to follow.")
        with torch.no_grad():
            if self.against is not None:
                return self.score(pixels).sigmoid()
            return self.head.values(self.logits(pixels))[:, self.target]


def filled(pixels: Float[Tensor, "image channel height width"], fill: Fill) -> Float[Tensor, "image channel _ _"]:
    """The whole image replaced by `fill`."""
    if fill == "mean":
        return pixels.mean((2, 3), keepdim=True).expand_as(pixels).contiguous()
    sigma = min(pixels.shape[-2:]) / 10
    for axis in (2, 3):
        radius = min(round(3 * sigma), pixels.shape[axis] - 1)
        at = torch.arange(-radius, radius + 1, dtype=pixels.dtype, device=pixels.device)
        kernel = (-(at**2) / (2 * sigma**2)).exp()
        kernel = (kernel / kernel.sum()).view(1, 1, *((-1, 1) if axis == 2 else (1, -1)))
        pad = (0, 0, radius, radius) if axis == 2 else (radius, radius, 0, 0)
        flat = F.pad(pixels, pad, mode="reflect").flatten(0, 1)[:, None]
        pixels = F.conv2d(flat, kernel).view_as(pixels)
    return pixels


def cells_of(trace: Trace) -> tuple[int, int]:
    """(rows, columns) of the cells that are taken away together: the model's own patches.

    Where the model has several grids (stages), the finest with at most 400 cells; a network without any known grid is
    given squares of a fourteenth of its shorter side.
    """
    sets = [tokens for layer in trace.attention for tokens in (layer.query, layer.key)]
    grids = {t.grid for t in (*sets, *(f.tokens for f in trace.features)) if t.grid and min(t.grid) > 1}
    if not grids:
        side = max(1, min(trace.image_size) // 14)
        return max(1, trace.image_size[0] // side), max(1, trace.image_size[1] // side)
    few = [grid for grid in grids if grid[0] * grid[1] <= MOST_CELLS]
    return max(few) if few else min(grids)


def cell_of_pixel(size_hw: tuple[int, int], cells: tuple[int, int]) -> Int[Tensor, "height width"]:
    """For every pixel the number of its cell, row by row from 0; where the side is not divided, cells differ by one."""
    row, column = (torch.arange(size) * count // size for size, count in zip(size_hw, cells, strict=True))
    return row[:, None] * cells[1] + column


def on_cells(heat: Map, cells: tuple[int, int]) -> Float[Tensor, "row2 column2"]:
    """A map on another grid: the mean of what falls into a cell, and bilinear where the map is coarser."""
    if tuple(heat.shape) == cells:
        return heat
    if heat.shape[0] >= cells[0] and heat.shape[1] >= cells[1]:
        index = cell_of_pixel((heat.shape[0], heat.shape[1]), cells).flatten()  # pooling would overlap its cells
        total = heat.new_zeros(cells[0] * cells[1]).index_add(0, index, heat.flatten())
        return (total / index.bincount()).to(heat.dtype).view(cells)
    return F.interpolate(heat[None, None], cells, mode="bilinear", align_corners=False)[0, 0]
