"""How well things are found: average precision as COCO defines it (Lin et al. 2014), by torchmetrics.

A detection counts as right when its box overlaps that of a thing of its class by an IoU of some threshold at least, and
no better scored one has taken that thing. AP50: at .5; AP: the mean over .5, .55 … .95.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor
from torchvision.ops import box_convert, box_iou

from vizkit.models.detection.found import Found, found
from vizkit.models.detection.matching import Things

__all__ = ["RIGHT_OVERLAP", "Found", "Precision", "all_right", "found", "precision", "which_right"]

RIGHT_OVERLAP = 0.5
OVERLAPS, RECALLS = np.linspace(0.5, 0.95, 10).tolist(), np.linspace(0, 1, 101).tolist()
"""pycocotools' own. Those of torchmetrics are rounded to single precision, so that a recall of 3/5 is below .6."""
SIDE = 1000.0  # torchmetrics reads boxes in pixels; the unit changes nothing but "small" and "large"


@dataclass(frozen=True)
class Precision:
    """Average precisions from 0 to 1; of classes that occur nowhere −1. `by_label`: AP50 of each class."""

    ap: float
    ap50: float
    ap75: float
    by_label: tuple[float, ...]


def precision(detections: Sequence[Found], truth: Sequence[Things], labels: int) -> Precision:
    """Over all pictures together. `labels`: how many classes there are."""
    from torchmetrics.detection import MeanAveragePrecision

    exact: Any = {"box_format": "cxcywh", "rec_thresholds": RECALLS}
    metric = MeanAveragePrecision(iou_thresholds=OVERLAPS, **exact)
    at_half = MeanAveragePrecision(class_metrics=True, iou_thresholds=[RIGHT_OVERLAP], **exact)
    for each in (metric, at_half):
        each.warn_on_many_detections = False
        each.update(
            [_metrics(one.things) | {"scores": one.scores.cpu()} for one in detections],
            [_metrics(one) for one in truth],
        )
    together, half = metric.compute(), at_half.compute()
    by_label = torch.full((labels,), -1.0)
    by_label[half["classes"].reshape(-1).long()] = half["map_per_class"].reshape(-1)
    ap, ap50, ap75 = (float(together[name]) for name in ("map", "map_50", "map_75"))
    return Precision(ap, ap50, ap75, tuple(by_label.tolist()))


def all_right(detections: Found, truth: Things, threshold: float = 0.5) -> bool:
    """Whether every thing is found, and nothing else is said."""
    sure = detections.above(threshold).things
    return len(sure.labels) == len(truth.labels) and bool(which_right(sure, truth).all())


def which_right(said: Things, truth: Things) -> Bool[Tensor, " detection"]:
    """Of boxes, the surest first: each takes the thing of its class that it overlaps most, of those that no surer one
    has taken. As many things are found; the other boxes are doubles, of another class, or lie on nothing."""
    boxes, true = (box_convert(each.boxes_cxcywh, "cxcywh", "xyxy") for each in (said, truth))
    overlap = box_iou(boxes, true).where(said.labels[:, None] == truth.labels, 0.0)
    right = torch.zeros(len(said.labels), dtype=torch.bool, device=overlap.device)
    for place in range(len(right) if len(truth.labels) else 0):
        best, thing = overlap[place].max(0)
        if best >= RIGHT_OVERLAP:
            right[place], overlap[:, thing] = True, 0.0
    return right


def _metrics(things: Things) -> dict[str, Any]:
    return {"boxes": things.boxes_cxcywh.cpu() * SIDE, "labels": things.labels.cpu()}
