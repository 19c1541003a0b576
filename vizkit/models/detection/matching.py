"""Which answer stands for which thing: the assignment of least cost, and the losses that follow from it.

Carion et al. 2020 (arXiv 2005.12872), § 3.1: each thing gets one query and each query at most one thing, so that no
thing is said twice, and no step that removes doubles is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torchvision.ops import box_convert, generalized_box_iou

from vizkit.models.networks.detr import Answers


@dataclass(frozen=True)
class Things:
    """What is in one picture. `boxes_cxcywh`: middle, width, height as shares of it."""

    labels: Int[Tensor, " thing"]
    boxes_cxcywh: Float[Tensor, "thing 4"]


@dataclass(frozen=True)
class Weights:
    """How much each part counts; the paper's (appendix A.4). `nothing`: of a query for which there is no thing."""

    label: float = 1.0
    distance: float = 5.0
    overlap: float = 2.0
    nothing: float = 0.1


@dataclass(frozen=True)
class Costs:
    """Not yet weighed: of every query for every thing 1 − p(class), |box − box| summed over four numbers, 1 − GIoU; or
    the losses of a decoder layer, see `losses`."""

    label: Float[Tensor, "*pair"]
    distance: Float[Tensor, "*pair"]
    overlap: Float[Tensor, "*pair"]

    def total(self, weights: Weights) -> Float[Tensor, "*pair"]:
        return weights.label * self.label + weights.distance * self.distance + weights.overlap * self.overlap


Pairs = tuple[Int[Tensor, "_pair"], Int[Tensor, "_pair"]]
"""Queries, and the thing of each."""


def costs(logits: Float[Tensor, "query label"], boxes_cxcywh: Float[Tensor, "query 4"], things: Things) -> Costs:
    """Of one picture, or of several whose queries and whose things stand one after another."""
    share = logits.softmax(-1)[:, things.labels]
    distance = torch.cdist(boxes_cxcywh, things.boxes_cxcywh, p=1)
    overlap = 1 - generalized_box_iou(_corners(boxes_cxcywh), _corners(things.boxes_cxcywh))
    return Costs(1 - share, distance, overlap)


def match(cost: Float[Tensor, "query thing"]) -> Pairs:
    """The assignment of least cost in all ("Hungarian method"): every thing has a query where there are enough."""
    rows, columns = linear_sum_assignment(cost.detach().cpu().numpy())
    return torch.as_tensor(rows), torch.as_tensor(columns)


def greedy(cost: Float[Tensor, "query thing"]) -> Pairs:
    """The cheapest pair first, then the cheapest of what is left: simple, and dearer in all than `match`."""
    left = cost.detach().clone()
    pairs = []
    for _ in range(min(left.shape)):
        query, thing = divmod(int(left.argmin()), left.shape[1])
        pairs.append((query, thing))
        left[query], left[:, thing] = torch.inf, torch.inf
    pairs.sort()
    queries, of = torch.tensor(pairs, dtype=torch.long).reshape(len(pairs), 2).unbind(1)
    return queries, of


def spent(cost: Float[Tensor, "query thing"], pairs: Pairs) -> float:
    """What these pairs cost together."""
    return float(cost[pairs[0], pairs[1]].sum())


CENTRAL = 0.6  # of a thing's width and height: the cells there speak for it


def around(things: Things, middles: Float[Tensor, "cell 2"]) -> Pairs:
    """The cells that lie in the middle of a thing, each with the smallest such thing: many cells for one thing (Tian et
    al. 2019, arXiv 1904.01355, § 3.1)."""
    if not len(things.labels):
        return torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    off = (middles[:, None] - things.boxes_cxcywh[:, :2]).abs()
    inside = (off <= CENTRAL / 2 * things.boxes_cxcywh[:, 2:]).all(-1)
    area = things.boxes_cxcywh[:, 2:].prod(-1).expand(len(middles), -1)
    smallest = area.masked_fill(~inside, torch.inf).argmin(-1)
    cells = inside.any(-1).nonzero()[:, 0]
    return cells, smallest[cells]


@torch.no_grad()
def matched(answers: Answers, things: Sequence[Things], weights: Weights = Weights()) -> list[Pairs]:
    """Of every picture of a batch. All costs are computed at once, each picture's own part is assigned."""
    queries, counts = answers.logits.shape[1], [len(each.labels) for each in things]
    together = Things(torch.cat([each.labels for each in things]), torch.cat([each.boxes_cxcywh for each in things]))
    total = costs(answers.logits.flatten(0, 1), answers.boxes_cxcywh.flatten(0, 1), together).total(weights).cpu()
    blocks = total.unflatten(0, (len(things), queries)).split(counts, -1)
    return [match(block[image]) for image, block in enumerate(blocks)]


def losses(answers: Answers, things: Sequence[Things], pairs: Sequence[Pairs], weights: Weights = Weights()) -> Costs:
    """Of one decoder layer: cross-entropy with "no object" for queries without a thing, a mean over queries, and for
    the others the distance of the boxes, divided by the number of things of the batch."""
    device, nothing = answers.logits.device, answers.logits.shape[-1] - 1
    expected = torch.full(answers.logits.shape[:2], nothing, device=device)
    mine, theirs = [], []
    for image, (each, (queries, which)) in enumerate(zip(things, pairs, strict=True)):
        expected[image, queries] = each.labels[which].to(device)
        mine.append(answers.boxes_cxcywh[image, queries])
        theirs.append(each.boxes_cxcywh[which].to(device))
    importance = torch.ones(nothing + 1, device=device)
    importance[nothing] = weights.nothing
    label = F.cross_entropy(answers.logits.transpose(1, 2), expected, importance)
    boxes, truth = torch.cat(mine), torch.cat(theirs)
    count = max(1, len(boxes))
    overlap = 1 - generalized_box_iou(_corners(boxes), _corners(truth)).diagonal()
    return Costs(label, (boxes - truth).abs().sum() / count, overlap.sum() / count)


def _corners(boxes_cxcywh: Float[Tensor, "box 4"]) -> Float[Tensor, "box 4"]:
    return box_convert(boxes_cxcywh, "cxcywh", "xyxy")
