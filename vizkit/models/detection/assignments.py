"""Which query stands for which thing of one picture, chosen in two ways, and what each costs."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torchvision.ops import box_convert

from vizkit.models.detection.matching import Costs, Things, Weights, costs, greedy, match, spent
from vizkit.models.networks.detr import Answers


@dataclass(frozen=True)
class Chosen:
    """`pairs`: (query, thing), from 0; `cost`: their sum."""

    pairs: tuple[tuple[int, int], ...]
    cost: float


@dataclass(frozen=True, eq=False)
class Assigned:
    """`each`: the costs before they are weighed, `total` afterwards; `optimal`: the least sum that there is;
    `greedy`: the cheapest pair first."""

    each: Costs
    total: Float[Tensor, "query thing"]
    optimal: Chosen
    greedy: Chosen


def things_of(
    boxes_xyxy: Float[np.ndarray, "thing 4"], labels: Int[np.ndarray, " thing"], size_hw: tuple[int, int]
) -> Things:
    """`boxes_xyxy` in pixels of a picture of `size_hw`."""
    height, width = size_hw
    shares = torch.from_numpy(boxes_xyxy / np.array([width, height, width, height])).float()
    return Things(torch.from_numpy(labels), box_convert(shares, "xyxy", "cxcywh"))


def costs_of(answers: Answers, things: Things) -> Costs:
    """Of one picture, from what a decoder layer answers."""
    return costs(answers.logits[0].float(), answers.boxes_cxcywh[0].float(), things)


def assigned(each: Costs, weights: Weights) -> Assigned:
    """Both choices under these weights."""
    total = each.total(weights)
    best, first = match(total), greedy(total)
    pairs = [tuple(zip(queries.tolist(), things.tolist(), strict=True)) for queries, things in (best, first)]
    return Assigned(each, total, Chosen(pairs[0], spent(total, best)), Chosen(pairs[1], spent(total, first)))
