"""Which pixels belong to which thing: DETR and its mask head, and the panoptic map that follows.

Carion et al. 2020 (arXiv 2005.12872), § 4.4. Each kept query gives a mask; a pixel goes to the query whose mask is
surest there, so that masks never overlap. Unlike there, what belongs to no thing has no query of its own: it is ground.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from vizkit.image import RGB, prepare
from vizkit.models.detection.opening import Detector
from vizkit.models.networks.detr import DETR, Answers
from vizkit.models.networks.detr_masks import MaskHead

FINEST = 4  # stride in pixels; finer maps of the backbone are left out, as in the paper
LONGEST = 480  # pixels of a map: all masks of a picture are in memory at once
SMALLEST = 16  # pixels; of a smaller segment nothing can be recognised


@dataclass(frozen=True)
class Segments:
    """`instances`: of every pixel 0, the ground, or 1 + the place of the thing that is seen there. `queries`: whose
    mask each thing is, of those that a model has found."""

    instances: UInt8[np.ndarray, "height width"]
    labels: Int[np.ndarray, " thing"]
    queries: Int[np.ndarray, " _query"] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class MaskInputs:
    """What the mask head needs of pictures: `answers` and `states` of the queries, the memory and the backbone's finer
    maps, the coarser first."""

    answers: Answers
    states: Float[Tensor, "image query dim"]
    memory: Float[Tensor, "image dim row column"]
    finer: tuple[Float[Tensor, "image _channel _row _column"], ...]

    def inputs(self, image: Int[Tensor, " instance"], query: Int[Tensor, " instance"]) -> tuple[Tensor, ...]:
        """The arguments of `MaskHead.forward` for these queries of these images."""
        return self.states[image, query], self.answers.boxes_cxcywh[image, query], image, self.memory, *self.finer


@torch.no_grad()
def mask_inputs(detr: DETR, pixels: Float[Tensor, "image channel height width"]) -> MaskInputs:
    """One pass of a network in use. ValueError where its backbone does not show its maps."""
    if not hasattr(detr.backbone, "forward_intermediates"):
        raise ValueError("This backbone does not show its finer maps, so there can be no masks.")
    last, maps = detr.backbone.forward_intermediates(pixels)
    memory, place, (rows, columns) = detr.remembered(last)
    states, answers = detr.states(memory, place)[-1]
    finer = [each for each in maps if columns < each.shape[-1] <= pixels.shape[-1] // FINEST]
    by_size = sorted(finer, key=lambda each: each.shape[-1])
    return MaskInputs(answers, states, memory.transpose(1, 2).unflatten(2, (rows, columns)), tuple(by_size))


def finer_channels(detr: DETR, size_hw: tuple[int, int]) -> list[int]:
    """How many channels the finer maps have, the coarser map first. ValueError as `mask_inputs`."""
    weights = next(detr.parameters())
    pixels = torch.zeros(1, 3, *size_hw)
    return [each.shape[1] for each in mask_inputs(detr, pixels.to(weights)).finer]


def segment(detector: Detector, head: MaskHead, rgb: RGB, threshold: float = 0.5) -> Segments:
    """Of one picture of any size; the map is as large as the picture, at most LONGEST pixels in its longer side."""
    pixels = torch.from_numpy(prepare(rgb, detector.preprocessing)[0])[None]
    given = mask_inputs(detector.model, pixels.to(detector.model.queries.weight.device))
    scale = min(1.0, LONGEST / max(rgb.shape[:2]))
    height, width = (max(1, round(scale * side)) for side in rgb.shape[:2])
    return segments_of(head, given, (height, width), threshold)[0]


@torch.no_grad()
def segments_of(head: MaskHead, given: MaskInputs, size_hw: tuple[int, int], threshold: float = 0.5) -> list[Segments]:
    """Of every picture, `size_hw` pixels large, from queries whose score is at least `threshold`, the surest first."""
    scores, labels = given.answers.logits.float().softmax(-1)[..., :-1].max(-1)
    order = scores.argsort(dim=-1, descending=True, stable=True)
    kept = [each[scores[image, each] >= threshold] for image, each in enumerate(order)]
    image = torch.cat([torch.full_like(each, place) for place, each in enumerate(kept)])
    if not len(image):
        empty = Segments(np.zeros(size_hw, np.uint8), np.zeros(0, np.int64))
        return [empty] * len(kept)
    logits = head(*given.inputs(image, torch.cat(kept))).float()
    fine = F.interpolate(logits[:, None], size_hw, mode="bilinear", align_corners=False)[:, 0]
    parts = zip(fine.split([len(each) for each in kept]), kept, labels, strict=True)
    found = [(segments(mine.cpu().numpy(), which.cpu().numpy()), own.cpu().numpy()) for mine, which, own in parts]
    return [Segments(made.instances, own[made.labels], made.labels) for made, own in found]


def segments(
    logits: Float[np.ndarray, "thing height width"], labels: Int[np.ndarray, " thing"] | Sequence[int]
) -> Segments:
    """The map of masks that compete: a pixel goes to the highest logit, and to the ground where that is below 0. Things
    of fewer than SMALLEST pixels are left out."""
    labels = np.asarray(labels, np.int64)
    if not len(labels):
        return Segments(np.zeros(logits.shape[1:], np.uint8), labels)
    winner = np.where(logits.max(0) > 0, logits.argmax(0) + 1, 0)
    sizes = np.bincount(winner.ravel(), minlength=len(labels) + 1)[1:]
    kept = np.flatnonzero(sizes >= SMALLEST)
    place = np.zeros(len(labels) + 1, np.uint8)
    place[kept + 1] = np.arange(1, len(kept) + 1)
    return Segments(place[winner], labels[kept])
