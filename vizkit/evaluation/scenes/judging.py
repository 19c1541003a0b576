"""A detector on many annotated pictures: average precision, and the share of pictures without any mistake."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.scenes.annotated import Annotated, BoxSet
from vizkit.image import prepare
from vizkit.models.detection.found import Found, found
from vizkit.models.detection.matching import Things
from vizkit.models.detection.opening import Detector
from vizkit.models.detection.precision import Precision, all_right, precision

__all__ = ["Judged", "batches", "judge", "things_in"]

BATCH = 50
MOST_NAMED = 5
Tell = Callable[[int], None]


@dataclass(frozen=True)
class Judged:
    """`faultless`: share of the scenes all of whose things are found (score ≥ .5, IoU ≥ .5) with nothing else said.
    `labels` are those of the data, `things` how many of each there are. `notes`: sentences for the user."""

    precision: Precision
    faultless: float
    scenes: int
    labels: tuple[str, ...]
    things: tuple[int, ...]
    seconds: float
    notes: tuple[str, ...] = ()


def judge(detector: Detector, scenes: BoxSet, tell: Tell = lambda done: None) -> Judged:
    """Classes are the same where their names are. What the model says of other classes than the data's is not counted:
    nobody can tell whether it is right. DatasetError where no class is shared, or for a damaged picture."""
    own, notes = _classes(detector, scenes)
    begin = time.monotonic()
    detections, truth = [], []
    device = next(detector.model.parameters()).device
    with torch.inference_mode():
        for pictures, pixels in batches(detector, scenes):
            detections += [_among(each, own) for each in found(detector.model(pixels.to(device)))]
            truth += [things_in(each) for each in pictures]
            tell(len(truth))
    right = sum(all_right(said, things) for said, things in zip(detections, truth, strict=True))
    counts = torch.cat([each.labels for each in truth]).bincount(minlength=len(scenes.labels))
    return Judged(
        precision(detections, truth, len(scenes.labels)),
        right / len(truth),
        len(truth),
        scenes.labels,
        tuple(counts.tolist()),
        time.monotonic() - begin,
        (*scenes.notes, *notes),
    )


def batches(
    detector: Detector, scenes: BoxSet
) -> Iterator[tuple[list[Annotated], Float[Tensor, "_picture 3 _height _width"]]]:
    """Pictures with what is in them, and as the model wants them; one by one where each has a size of its own."""
    step = BATCH if detector.edges_px is None else 1
    for start in range(0, len(scenes), step):
        pictures = [scenes[index] for index in range(start, min(start + step, len(scenes)))]
        prepared = [prepare(each.picture, detector.needs(_size_hw(each)))[0] for each in pictures]
        yield pictures, torch.from_numpy(np.stack(prepared))


def things_in(scene: Annotated) -> Things:
    """Its things with boxes as shares of the picture."""
    height, width = _size_hw(scene)
    left, top, right, bottom = torch.from_numpy(scene.boxes_xyxy / np.array([width, height] * 2)).float().T
    boxes = torch.stack([(left + right) / 2, (top + bottom) / 2, right - left, bottom - top], 1)
    return Things(torch.from_numpy(scene.labels).long(), boxes)


def _size_hw(scene: Annotated) -> tuple[int, int]:
    height, width = scene.picture.shape[:2]
    return height, width


def _classes(detector: Detector, scenes: BoxSet) -> tuple[Tensor, list[str]]:
    """Of every class of the model the number of the data's, or −1; and what is to be said about the others."""
    places = {label: place for place, label in reversed(list(enumerate(scenes.labels)))}
    own = [places.get(label, -1) for label in detector.labels]
    if max(own) < 0:
        raise DatasetError(
            f"{scenes.name} and {detector.name} have no class in common: it holds "
            f"{_named(scenes.labels)}, the model finds {_named(detector.labels)}."
        )
    unknown = [label for place, label in enumerate(scenes.labels) if place not in own]
    other = [label for label, place in zip(detector.labels, own, strict=True) if place < 0]
    notes = []
    if unknown:
        notes.append(f"{detector.name} does not know {_named(unknown)}: these count as missed.")
    if other:
        notes.append(f"What {detector.name} says of {_named(other)} is not counted: the data does not name them.")
    return torch.tensor(own), notes


def _named(labels: tuple[str, ...] | list[str]) -> str:
    return ", ".join(label[:40] for label in labels[:MOST_NAMED]) + (" …" if len(labels) > MOST_NAMED else "")


def _among(said: Found, own: Tensor) -> Found:
    labels = own[said.things.labels.cpu()]
    kept = labels >= 0
    return Found(Things(labels[kept], said.things.boxes_cxcywh.cpu()[kept]), said.scores.cpu()[kept])
