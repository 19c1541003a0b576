"""How far boxes overlap, and which of them say the same thing twice."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

SAME = 0.5
"""From this IoU on two boxes of one class stand for the same thing."""


def overlaps(
    first_cxcywh: Float[Tensor, "box 4"], second_cxcywh: Float[Tensor, "other 4"]
) -> Float[Tensor, "box other"]:
    """Intersection over union, 0 to 1."""
    a, b = corners(first_cxcywh)[:, None], corners(second_cxcywh)
    sides = torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])
    shared = sides.clamp(min=0).prod(-1)
    area = first_cxcywh[:, 2:].prod(-1)[:, None] + second_cxcywh[:, 2:].prod(-1) - shared
    return shared / area.clamp(min=torch.finfo(area.dtype).tiny)


def duplicates(labels: Int[Tensor, " box"], boxes_cxcywh: Float[Tensor, "box 4"]) -> Bool[Tensor, " box"]:
    """Which boxes say again what a surer one of their class has said, IoU ≥ 0.5. The surest box comes first."""
    alike = (labels[:, None] == labels) & (overlaps(boxes_cxcywh, boxes_cxcywh) >= SAME)
    return alike.triu(1).any(0)


def found_again(
    labels: Int[Tensor, " box"],
    boxes_cxcywh: Float[Tensor, "box 4"],
    right: Bool[Tensor, " box"],
    true_labels: Int[Tensor, " thing"],
    true_boxes_cxcywh: Float[Tensor, "thing 4"],
) -> Bool[Tensor, " box"]:
    """Which of the boxes that are not right lie on a thing of their class, IoU ≥ 0.5: a surer one has found it."""
    on = (labels[:, None] == true_labels) & (overlaps(boxes_cxcywh, true_boxes_cxcywh) >= SAME)
    return ~right & on.any(1)


def best_overlap(box_cxcywh: Float[Tensor, " 4"], boxes_cxcywh: Float[Tensor, "box 4"]) -> tuple[int, float] | None:
    """The box that overlaps this one most, and its IoU; None where none does."""
    if not len(boxes_cxcywh):
        return None
    iou = overlaps(box_cxcywh[None], boxes_cxcywh)[0]
    place = int(iou.argmax())
    return (place, float(iou[place])) if iou[place] > 0 else None


def corners(boxes_cxcywh: Float[Tensor, "box 4"]) -> Float[Tensor, "box 4"]:
    """Left, top, right, bottom of boxes given by middle, width and height."""
    middle, size = boxes_cxcywh[:, :2], boxes_cxcywh[:, 2:]
    return torch.cat([middle - size / 2, middle + size / 2], 1)
