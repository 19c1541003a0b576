"""Scenes written in COCO's format, as somebody's tool does it."""

import json

import numpy as np
from PIL import Image

from vizkit.datasets.scenes.coco import FILE


def write_coco(folder, scenes, labels):
    """Pictures as 000000.png … and annotations.json."""
    folder.mkdir(parents=True, exist_ok=True)
    images, annotations = [], []
    for number, scene in enumerate(scenes):
        name = f"{number:06}.png"
        Image.fromarray(scene.picture).save(folder / name)
        height, width = scene.picture.shape[:2]
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        for place, (box, label) in enumerate(zip(scene.boxes_xyxy.tolist(), scene.labels.tolist(), strict=True), 1):
            left, top, right, bottom = box
            each = {
                "id": len(annotations),
                "image_id": number,
                "category_id": label + 1,
                "iscrowd": 0,
                "bbox": [left, top, right - left, bottom - top],
            }
            if scene.instances is None:
                each["area"] = (right - left) * (bottom - top)
            else:
                mask = scene.instances == place
                each |= {
                    "area": int(mask.sum()),
                    "segmentation": {"counts": list(run_lengths(mask)), "size": [height, width]},
                }
            annotations.append(each)
    categories = [{"id": number, "name": name} for number, name in enumerate(labels, 1)]
    (folder / FILE).write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))


def run_lengths(mask):
    """How many pixels down the columns are off, on, off, …"""
    flat = mask.T.ravel()
    ends = np.flatnonzero(np.diff(flat)) + 1
    runs = np.diff([0, *ends.tolist(), len(flat)]).tolist()
    return (0, *runs) if flat[0] else tuple(runs)
