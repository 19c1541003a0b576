"""Detectors on many annotated pictures: every box that they say, what is there, and how good they are."""

import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.datasets.image_set import DatasetError, digest_of
from vizkit.datasets.scenes.annotated import Annotated, BoxSet
from vizkit.evaluation.answer_cache import AnswerCache, forget_oldest, weights_digest
from vizkit.evaluation.answers import StoppedError
from vizkit.evaluation.outcome import titles
from vizkit.evaluation.scenes.boxes import Boxes, measure
from vizkit.evaluation.scenes.outcome import STEPS, Judged, SceneOutcome, packed, unpacked
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
    nobody can tell whether it is right. What the same weights have answered of the same scenes is kept on disk, and not
    computed again. `opened`: how the scenes were opened; `tell`: number and name of the model, scenes, of how many, a
    second. DatasetError where no class is shared, or for a damaged picture; StoppedError."""
    notes, judged, there = [*scenes.notes], list[Judged](), None
    owns = [_classes(detector, scenes) for detector in detectors]
    for number, (detector, name, (own, said)) in enumerate(
        zip(detectors, titles([each.name for each in detectors]), owns, strict=True)
    ):
        weights, device = weights_digest(detector.model), next(detector.model.parameters()).device
        step = BATCH if detector.edges_px is None else 1
        facts = weights, detector.preprocessing, detector.edges_px, detector.labels, scenes.labels, scenes.digest, step
        cache = AnswerCache.of(digest_of("boxes", *facts, device.type), len(scenes), step)
        parts, seconds = list[_Part](), 0.0
        for chunk in range(cache.chunks):
            rows = cache.rows(chunk)
            if (part := _kept(cache.folder / f"{chunk}.npz")) is None:
                part = _answered(detector, scenes, rows.tolist(), own)
                cache.keep(f"{chunk}.npz", part.write)
            parts.append(part)
            seconds += part.seconds
            done = int(rows[-1]) + 1
            tell(number, name, done, len(scenes), done / max(1e-9, seconds))
            if stopping():
                raise StoppedError
        forget_oldest(cache.folder)
        boxes = _joined([part.said for part in parts], step)
        there = there or _joined([part.there for part in parts], step)
        measures = measure(boxes, there, len(scenes.labels), len(scenes))
        judged.append(Judged(name, detector.licence, detector.parameters, weights, seconds, measures, boxes))
        notes += said
    assert there is not None
    about = dict(opened), scenes.name, scenes.split, scenes.digest, scenes.labels, len(scenes)
    return SceneOutcome(*about, tuple(dict.fromkeys(notes)), there, tuple(judged))


class _Part(NamedTuple):
    """Of one batch of scenes, counted from its first: every box, what is there, and how long it took."""

    said: Boxes
    there: Boxes
    seconds: float

    def write(self, file: IO[bytes]) -> None:
        arrays = packed("said", self.said) | packed("there", self.there)
        np.savez(file, allow_pickle=False, seconds=np.float64(self.seconds), **arrays)


def _kept(path: Path) -> _Part | None:
    """None where there is none, or it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return _Part(unpacked("said", arrays), unpacked("there", arrays), float(arrays["seconds"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


@torch.inference_mode()
def _answered(detector: Detector, scenes: BoxSet, rows: Sequence[int], own: Tensor) -> _Part:
    began = time.monotonic()
    pictures, pixels = batch(detector, scenes, rows)
    device = next(detector.model.parameters()).device
    said = [_among(each.things, each.scores, own) for each in found(detector.model(pixels.to(device)))]
    there = [(things, torch.ones(len(things.labels))) for things in map(things_in, pictures)]
    return _Part(_boxes(said), _boxes(there), time.monotonic() - began)


def _joined(parts: Sequence[Boxes], step: int) -> Boxes:
    """Of batches of so many scenes."""
    scene = np.concatenate([part.scene + step * place for place, part in enumerate(parts)])
    rest = ([getattr(part, name) for part in parts] for name in ("labels", "boxes_cxcywh", "scores"))
    return Boxes(scene, *map(np.concatenate, rest))


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
        yield batch(detector, scenes, range(start, min(start + step, len(scenes))))


def batch(
    detector: Detector, scenes: BoxSet, rows: Sequence[int]
) -> tuple[list[Annotated], Float[Tensor, "_picture 3 _height _width"]]:
    pictures = [scenes[index] for index in rows]
    prepared = [prepare(each.picture, detector.needs(_size_hw(each)))[0] for each in pictures]
    return pictures, torch.from_numpy(np.stack(prepared))


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
