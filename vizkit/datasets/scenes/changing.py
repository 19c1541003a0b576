"""Annotated pictures cut and resized, with the boxes and masks of what is in them."""

import numpy as np
from PIL import Image

from vizkit.datasets.scenes.annotated import Annotated

LEAST = 0.3
"""Of a box's area, which has to lie in a crop: of less nobody can tell what it is."""


def resized(scene: Annotated, size_hw: tuple[int, int]) -> Annotated:
    """The whole picture in another size, whatever its shape; bilinear, and the nearest pixel of the masks."""
    height, width = size_hw
    before = scene.picture.shape[:2]
    picture = np.asarray(Image.fromarray(scene.picture).resize((width, height), Image.Resampling.BILINEAR))
    boxes = scene.boxes_xyxy * np.array([width / before[1], height / before[0]] * 2)
    masks = scene.instances
    if masks is not None:
        masks = np.asarray(Image.fromarray(masks).resize((width, height), Image.Resampling.NEAREST))
    return Annotated(picture, boxes, scene.labels, masks)


def cropped(scene: Annotated, box_xyxy: tuple[int, int, int, int], least: float = LEAST) -> Annotated:
    """What lies between left, top, right and bottom, in pixels of the picture. Boxes end at the crop; a thing goes of
    whose box less than the share `least` is left. ValueError for a crop that does not lie in the picture."""
    left, top, right, bottom = box_xyxy
    height, width = scene.picture.shape[:2]
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise ValueError(f"The crop {box_xyxy} does not lie in an image of {width} × {height} pixels.")
    boxes = (scene.boxes_xyxy - [left, top, left, top]).clip(0, [right - left, bottom - top] * 2)
    kept = (_area(boxes) > 0) & (_area(boxes) >= least * _area(scene.boxes_xyxy))
    masks = scene.instances
    if masks is not None:
        number = np.zeros(len(kept) + 1, np.uint8)  # of the things that are kept, in the same order
        number[1:][kept] = np.arange(1, kept.sum() + 1)
        masks = number[masks[top:bottom, left:right]]
    return Annotated(scene.picture[top:bottom, left:right], boxes[kept], scene.labels[kept], masks)


def _area(boxes_xyxy: np.ndarray) -> np.ndarray:
    return (boxes_xyxy[:, 2] - boxes_xyxy[:, 0]) * (boxes_xyxy[:, 3] - boxes_xyxy[:, 1])
