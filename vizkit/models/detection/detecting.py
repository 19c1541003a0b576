"""Things in a picture of any size, with boxes in its own pixels."""

from dataclasses import dataclass

import numpy as np
import torch
from torchvision.ops import box_convert

from vizkit.image import RGB, Box, prepare
from vizkit.models.detection.found import found
from vizkit.models.detection.opening import Detector

THRESHOLD = 0.5


@dataclass(frozen=True)
class Detection:
    """A thing with the name of its class. `score`: its probability, 0 to 1; `box_xyxy`: left, top, right, bottom in
    pixels of the picture, none beyond its edges."""

    label: str
    score: float
    box_xyxy: Box


@torch.inference_mode()
def detect(detector: Detector, picture: RGB, threshold: float = THRESHOLD) -> list[Detection]:
    """The things whose score is at least `threshold` (0 to 1), the surest first; an empty list where there are none.
    ValueError for another threshold."""
    if not 0 <= threshold <= 1:
        raise ValueError(f"A score lies between 0 and 1, so the threshold cannot be {threshold:g}.")
    height, width = picture.shape[:2]
    pixels = torch.from_numpy(prepare(picture, detector.needs((height, width)))[0])[None]
    (every,) = found(detector.model(pixels.to(next(detector.model.parameters()).device)))
    sure = every.above(threshold)
    shares = box_convert(sure.things.boxes_cxcywh, "cxcywh", "xyxy").clamp(0, 1).cpu().double().numpy()
    boxes = shares * np.array([width, height] * 2)
    return [
        Detection(detector.labels[label], score, (left, top, right, bottom))
        for label, score, (left, top, right, bottom) in zip(
            sure.things.labels.tolist(), sure.scores.tolist(), boxes.tolist(), strict=True
        )
    ]
