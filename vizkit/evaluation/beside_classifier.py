"""Whether a classifier knows where things are: of its relevance for a class, how much lies in the boxes of that class.

A classifier was only ever told that an insect of one kind is in a picture. In a scene of several it can be asked for
each of them; chance is the share of the picture that the boxes cover.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.analysis.attribution.explaining import explain
from vizkit.analysis.attribution.methods import generic_relevance
from vizkit.analysis.remarks.places import cover
from vizkit.image import RGB, seen_box
from vizkit.models import Loaded, trace
from vizkit.traces import NotApplicable


@dataclass(frozen=True, eq=False)
class InBoxes:
    """One class of a picture. `heat`: its relevance on the model's patches, None where it gained none; `share`: of the
    relevance, what lies in boxes of the class; `others`: in boxes of other classes alone; `area`: of the picture, what
    boxes of the class cover. All from 0 to 1, NaN without relevance."""

    label: int
    heat: Float[Tensor, "row column"] | None
    share: float
    others: float
    area: float


def relevance_of(
    label: int,
    loaded: Loaded,
    picture: RGB,
    boxes_xyxy: Float[np.ndarray, "thing 4"],
    labels: Int[np.ndarray, " thing"],
) -> InBoxes:
    """Of one class. `boxes_xyxy` in pixels of the picture, `labels` numbered as the model's classes. One pass with
    gradients."""
    size_hw = picture.shape[0], picture.shape[1]
    seen = seen_box(size_hw, loaded.preprocessing)
    mine, theirs = (_inside(boxes_xyxy[which], size_hw) for which in (labels == label, labels != label))
    try:
        heat = explain(generic_relevance.METHOD.name, trace(loaded, picture, target=label)).heat.float()
    except NotApplicable:  # nothing gained relevance
        return InBoxes(label, None, float("nan"), float("nan"), float(mine.mean()))
    grid = heat.shape[0], heat.shape[1]
    own, others = cover(mine, seen, grid), cover(theirs * (1 - mine), seen, grid)
    return InBoxes(label, heat, in_boxes(heat, own), in_boxes(heat, others), float(own.mean()))


def in_boxes(heat: Float[Tensor, "row column"], covered: Float[Tensor, "row column"]) -> float:
    """Of the relevance, the share on what is covered, 0 to 1; what speaks against the class counts as nothing. NaN
    where there is no relevance."""
    weights = heat.clamp(min=0)
    total = float(weights.sum())
    return float((weights * covered).sum()) / total if total > 0 else float("nan")


def _inside(boxes_xyxy: Float[np.ndarray, "_thing 4"], size_hw: tuple[int, int]) -> Float[Tensor, "_height _width"]:
    """1 where a pixel lies in any of the boxes, else 0."""
    mask = torch.zeros(size_hw)
    for left, top, right, bottom in boxes_xyxy.round().astype(int).clip(0).tolist():
        mask[top:bottom, left:right] = 1
    return mask
