"""Detectors on many annotated pictures: every box that they say, what is there, and how good they are."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow
import torch
from jaxtyping import Float
from pyarrow.parquet import write_table
from torch import Tensor

from vizkit.datasets.cache import cache_folder
from vizkit.datasets.image_set import DatasetError, digest_of
from vizkit.datasets.scenes.annotated import Annotated, BoxSet
from vizkit.evaluation.classes import listed
from vizkit.evaluation.outcome import Progress, titles
from vizkit.evaluation.scenes.boxes import Boxes, measure
from vizkit.evaluation.scenes.outcome import STEPS, Judged, SceneOutcome
from vizkit.explanations.job import PLACE, Speed, StoppedError, Stopping, Tell, make_missing
from vizkit.explanations.kept import forget_oldest, wait, weights_digest
from vizkit.explanations.parts import Run, alone
from vizkit.image import prepare
from vizkit.models.detection.found import found
from vizkit.models.detection.matching import Things
from vizkit.models.detection.opening import Detector
from vizkit.settings import __version__

BATCH = 50
MOST_BOXES = 100  # of a class in a scene, the surest, as COCO has it


def judge(
    detectors: Sequence[Detector],
    scenes: BoxSet,
    opened: Mapping[str, Any],
    tell: Progress = lambda *_: None,
    stopping: Stopping = lambda: False,
) -> SceneOutcome:
    """Classes are the same where their names are. What a model says of other classes than the data's is not counted:
    nobody can tell whether it is right. `opened`: how the scenes were opened; `tell`: number and name of the model,
    scenes, of how many, a second. DatasetError where no class is shared, or for a damaged picture; StoppedError."""
    notes, judged, there = [*scenes.notes], list[Judged](), None
    owns = [_classes(detector, scenes) for detector in detectors]
    for number, (detector, name, (own, said)) in enumerate(
        zip(detectors, titles([each.name for each in detectors]), owns, strict=True)
    ):
        weights = weights_digest(detector.model)
        rows = _rows(detector, scenes, weights, partial(tell, number, name), stopping)
        boxes = _among(_boxes(rows, "said"), own)
        there = there or _boxes(rows, "true")
        seconds = sum(rows["seconds"].to_pylist())
        facts = detector.licence, detector.parameters, weights, seconds
        judged.append(Judged(name, *facts, measure(boxes, there, len(scenes.labels), len(scenes)), boxes))
        notes += said
    assert there is not None
    about = dict(opened), scenes.name, scenes.split, scenes.digest, scenes.labels, len(scenes)
    return SceneOutcome(*about, tuple(dict.fromkeys(notes)), there, tuple(judged))


def _rows(detector: Detector, scenes: BoxSet, weights: str, tell: Tell, stopping: Stopping) -> pyarrow.Table:
    """What the model says of every scene and what is there, BATCH scenes a part (`explanations.parts`), so that what
    was stopped goes on."""
    counts = tuple(min(BATCH, len(scenes) - at) for at in range(0, len(scenes), BATCH))
    place = PLACE.get()
    device = place.device if place else next(detector.model.parameters()).device.type
    facts = weights, detector.preprocessing, detector.edges_px, scenes.digest, device
    folder = cache_folder() / "passes" / digest_of(__version__, "scenes", *facts)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder, lambda: wait(lambda: None, stopping)):
        run = Run.begin(folder, {}, counts)  # its name is the digest of all else
        make_missing(SceneWork(run, detector, scenes), tell, stopping)
    forget_oldest(folder)
    return run.table()


@dataclass(eq=False)
class SceneWork:
    """A detector over scenes."""

    run: Run
    detector: Detector
    scenes: BoxSet

    def place(self, device: str, workers: int) -> None:
        self.detector.model.to(device)

    def parts(self, numbers: Sequence[int], tell: Tell, stopping: Stopping) -> Speed:
        speed, before, counts = Speed(), self.run.before(numbers), self.run.counts
        device = next(self.detector.model.parameters()).device
        for part in numbers:
            rows = range(part * BATCH, part * BATCH + counts[part])
            self.run.make(part, lambda path: write_table(_said(self.detector, self.scenes, rows, device), path))  # noqa: B023
            speed.add(len(rows), 0.0)
            tell(before + speed.pictures, sum(counts), speed.pictures / speed.seconds)
            if stopping():
                raise StoppedError
        return speed


@torch.inference_mode()
def _said(detector: Detector, scenes: BoxSet, rows: range, device: torch.device) -> pyarrow.Table:
    """A line for each scene: labels, boxes and scores of what is said and of what is there, and the time it took."""
    lines, began = [], time.monotonic()
    for pictures, pixels in batches(detector, scenes, rows):
        said = [(each.things, each.scores) for each in found(detector.model(pixels.to(device)))]
        true = [(things, torch.ones(len(things.labels))) for things in map(things_in, pictures)]
        for one in zip(said, true, strict=True):
            parts = [(things.labels, things.boxes_cxcywh.flatten(), scores.float()) for things, scores in one]
            lines.append([part.cpu().numpy() for of in parts for part in of])
    names = [f"{of}_{what}" for of in ("said", "true") for what in ("labels", "boxes", "scores")]
    seconds = [(time.monotonic() - began) / len(lines)] * len(lines)
    return pyarrow.table(dict(zip(names, map(list, zip(*lines, strict=True)), strict=True)) | {"seconds": seconds})


def _boxes(rows: pyarrow.Table, of: str) -> Boxes:
    lists = [rows[f"{of}_{what}"].combine_chunks() for what in ("labels", "boxes", "scores")]
    labels, boxes, scores = (each.flatten().to_numpy() for each in lists)
    scene = np.repeat(np.arange(len(rows)), lists[0].value_lengths())
    return Boxes(scene, labels, (boxes.reshape(-1, 4).clip(0, 1) * STEPS).round().astype(np.float32) / STEPS, scores)


def batches(
    detector: Detector, scenes: BoxSet, rows: range | None = None, most: int = BATCH
) -> Iterator[tuple[list[Annotated], Float[Tensor, "_picture 3 _height _width"]]]:
    """Pictures with what is in them, and as the model wants them, so many at once, or one by one where each has a size
    of its own."""
    step, rows = most if detector.edges_px is None else 1, rows or range(len(scenes))
    for start in range(0, len(rows), step):
        pictures = [scenes[index] for index in rows[start : start + step]]
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


def _classes(detector: Detector, scenes: BoxSet) -> tuple[np.ndarray, list[str]]:
    """Of every class of the model the number of the data's, or −1; and what is to be said about the others."""
    places = {label: place for place, label in reversed(list(enumerate(scenes.labels)))}
    own = [places.get(label, -1) for label in detector.labels]
    if max(own) < 0:
        raise DatasetError(
            f"{scenes.name} and {detector.name} have no class in common: it holds "
            f"{listed(scenes.labels)}, the model finds {listed(detector.labels)}."
        )
    unknown = [label for place, label in enumerate(scenes.labels) if place not in own]
    other = [label for label, place in zip(detector.labels, own, strict=True) if place < 0]
    notes = []
    if unknown:
        notes.append(f"{detector.name} does not know {listed(unknown)}: these count as missed.")
    if other:
        notes.append(f"What {detector.name} says of {listed(other)} is not counted: the data does not name them.")
    return np.array(own), notes


def _among(said: Boxes, own: np.ndarray) -> Boxes:
    """Of what is said, the surest first in each scene, what the data has a name for."""
    labels = own[said.labels]
    alike = said.scene * len(own) + labels
    order = np.argsort(alike, kind="stable")
    place = np.empty_like(order)  # of each among those of its scene and class
    place[order] = np.arange(len(order)) - np.searchsorted(alike[order], alike[order])
    return replace(said, labels=labels).where((labels >= 0) & (place < MOST_BOXES))
