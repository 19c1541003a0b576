"""How much attention each thing of an image gets, where the pixels of every thing are known."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor

from vizkit.traces import Map

Instances = UInt8[np.ndarray, "height width"]


@dataclass(frozen=True)
class Own:
    """Attention per pixel, 1: as much as if all pixels got the same. `others`: on all other things together, None
    where there are none; `ground`: where no thing is seen."""

    own: float
    others: float | None
    ground: float


def own_and_others(weights: Map, instances: Instances, thing: int) -> Own:
    """Attention per pixel of one thing, beside all others and the ground; 1: as much as if all pixels got the same. The
    weight of a cell is spread evenly over its pixels. `thing`: from 1, as in `instances`."""
    cover = _cover(instances, (weights.shape[0], weights.shape[1]))
    if not 0 < thing < len(cover):
        raise ValueError(f"There are things 1 to {len(cover) - 1}, and no {thing}.")
    rest = [place for place in range(1, len(cover)) if place != thing]
    together = torch.stack([cover[0], cover[thing], cover[rest].sum(0)])
    ground, own, others = _density(weights, together).tolist()
    return Own(own, others if rest else None, ground)


def instance_at(instances: Instances, point_xy: tuple[float, float]) -> int:
    """The thing that is seen at a point, in shares of the image: 1, 2, …, or 0 for the ground."""
    height, width = instances.shape
    x, y = point_xy
    return int(instances[min(int(y * height), height - 1), min(int(x * width), width - 1)])


def _cover(instances: Instances, grid: tuple[int, int]) -> Float[Tensor, "thing row column"]:
    """The share of every cell that the ground, thing 1, 2, … covers."""
    things = torch.arange(int(instances.max(initial=0)) + 1)
    masks = torch.from_numpy(instances).long() == things[:, None, None]
    return F.adaptive_avg_pool2d(masks.float()[None], grid)[0]


def _density(weights: Map, cover: Float[Tensor, "thing row column"]) -> Float[Tensor, " thing"]:
    shares, area = weights / weights.sum().clamp(min=1e-12), cover.mean((1, 2))
    return (cover * shares).sum((1, 2)) / area.clamp(min=1e-12)
