"""Detectors on many annotated pictures: every box that they say, what is there, and how good they are."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.scenes.annotated import Annotated, BoxSet
from vizkit.evaluation.outcome import titles
from vizkit.evaluation.scenes.boxes import Boxes, measure
from vizkit.evaluation.scenes.outcome import STEPS, Judged, SceneOutcome
from vizkit.explanations.job import StoppedError
from vizkit.explanations.kept import weights_digest
from vizkit.image import prepare
from vizkit.models.detection.found import found
from vizkit.models.detection.matching import Things
from vizkit.models.detection.opening import Detector

BATCH = 50
MOST_NAMED = 5
MOST_BOXES = 100  # of a class in a scene, the surest, as COCO has it
Tell = Callable[[int], None]


def judge(
    detectors: Sequence[Detector],
    scenes: BoxSet,
    opened: Mapping[str, Any],
    tell: Callable[[int, str, int, int, float], None] = lambda *_: None,
    stopping: Callable[[], bool] = lambda: False,
) -> SceneOutcome:
    """Classes are the same where their names are. What a model says of other classes than the data's is not counted:
    nobody can tell whether it is right. `opened`: how the scenes were opened; `tell`: number and name of the model,
    scenes, of how many, a second. DatasetError where no class is shared, or for a damaged picture; StoppedError."""
    notes, judged, there = [*scenes.notes], list[Judged](), None
    owns = [_classes(detector, scenes) for detector in detectors]
    for number, (detector, name, (own, said)) in enumerate(
        zip(detectors, titles([each.name for each in detectors]), owns, strict=True)
    ):
        begin, device = time.monotonic(), next(detector.model.parameters()).device
        parts, truth = list[tuple[Things, Tensor]](), list[tuple[Things, Tensor]]()
        with torch.inference_mode():
            for pictures, pixels in batches(detector, scenes):
                parts += [_among(each.things, each.scores, own) for each in found(detector.model(pixels.to(device)))]
                truth += [(things, torch.ones(len(things.labels))) for things in map(things_in, pictures)]
                per_s = len(truth) / max(1e-9, time.monotonic() - begin)
                tell(number, name, len(truth), len(scenes), per_s)
                if stopping():
                    raise StoppedError
        boxes, there = _boxes(parts), there or _boxes(truth)
        seconds = time.monotonic() - begin
        facts = detector.licence, detector.parameters, weights_digest(detector.model), seconds
        judged.append(Judged(name, *facts, measure(boxes, there, len(scenes.labels), len(scenes)), boxes))
        notes += said
    assert there is not None
    about = dict(opened), scenes.name, scenes.split, scenes.digest, scenes.labels, len(scenes)
    return SceneOutcome(*about, tuple(dict.fromkeys(notes)), there, tuple(judged))


def _boxes(scenes: Sequence[tuple[Things, Tensor]]) -> Boxes:
    boxes = torch.cat([things.boxes_cxcywh for things, _ in scenes]).cpu().numpy()
    return Boxes(
        np.repeat(np.arange(len(scenes)), [len(scores) for _, scores in scenes]),
        torch.cat([things.labels for things, _ in scenes]).cpu().numpy(),
        (boxes.clip(0, 1) * STEPS).round().astype(np.float32) / STEPS,
        torch.cat([scores for _, scores in scenes]).float().cpu().numpy(),
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


def _among(said: Things, scores: Tensor, own: Tensor) -> tuple[Things, Tensor]:
    """Of what is said, the surest first, what the data has a name for."""
    labels = own[said.labels.cpu()]
    kept = (labels >= 0) & ((labels[:, None] == labels).tril().sum(1) <= MOST_BOXES)
    return Things(labels[kept], said.boxes_cxcywh.cpu()[kept]), scores.cpu()[kept]
