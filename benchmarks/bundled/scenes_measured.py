"""What is claimed of a bundled detector, in one go over unseen scenes: precision, where its queries look, what they say
twice once they no longer look at each other, and where the cheapest pair first is not the best assignment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.bundled.scenes_looking import Looking, densities, looking
from vizkit.analysis.detection.boxes import duplicates
from vizkit.datasets.scenes.annotated import BoxSet
from vizkit.evaluation.scenes.judging import batches, things_in
from vizkit.models.detection.assignments import assigned, costs_of
from vizkit.models.detection.found import Found, found
from vizkit.models.detection.matching import Things, Weights, matched
from vizkit.models.detection.opening import Detector
from vizkit.models.detection.precision import Precision, all_right, precision
from vizkit.models.networks.detr import Answers
from vizkit.models.recording.recorder import Recorder

SURE = 0.5


@dataclass(frozen=True)
class Said:
    """`duplicates`: boxes of a scene, on average, that say again what a surer one has said. `faultless`: share of the
    scenes without any mistake."""

    precision: Precision
    faultless: float
    duplicates: float


@dataclass(frozen=True)
class Measured:
    """`whole` the network, `alone` its queries without self-attention in the decoder. `looking`: by decoder layer, mean
    over heads. `things`: of each class. `differing`: by decoder layer, scenes in which the cheapest pair first costs
    more than the assignment of least cost."""

    scenes: int
    things: tuple[int, ...]
    whole: Said
    alone: Said
    looking: tuple[Looking, ...]
    differing: tuple[int, ...]


@torch.no_grad()
def measure(detector: Detector, scenes: BoxSet, tell: Callable[[int], None] = lambda done: None) -> Measured:
    """Scenes with masks, of the classes of the model. ValueError where no scene has two things."""
    whole, alone, truth = [], [], []
    attention: list[list] = [[] for _ in detector.model.decoder]
    differing = [0] * len(attention)
    for pictures, pixels in batches(detector, scenes):
        things = [things_in(each) for each in pictures]
        memory, place, grid = detector.model.encoded(pixels)
        with Recorder(detector.model, single_keys=True) as recorder:
            layers = detector.model.decoded(memory, place)
        answers = layers[-1]
        differing = [
            before + sum(map(_differs, _each(layer), things)) for before, layer in zip(differing, layers, strict=True)
        ]
        cross = [
            call.weights.mean(1)
            for call in recorder.calls
            if call.weights is not None and "cross" in call.path.split(".")
        ]
        pairs = matched(answers, things)
        for image, each in enumerate(pictures):
            if each.instances is None:
                continue
            for layer, weights in zip(attention, cross, strict=True):
                layer.append(densities(weights[image], grid, each.instances, pairs[image]))
        whole += found(answers)
        alone += _alone(detector, memory, place)
        truth += things
        tell(len(truth))
    counts = torch.cat([each.labels for each in truth]).bincount(minlength=len(scenes.labels))
    judged, judged_alone = (_said(each, truth, len(scenes.labels)) for each in (whole, alone))
    looks = tuple(looking(each) for each in attention)
    return Measured(len(truth), tuple(counts.tolist()), judged, judged_alone, looks, tuple(differing))


def _each(answers: Answers) -> list[Answers]:
    """Of one picture at a time."""
    return [Answers(*parts) for parts in zip(*(each.split(1) for each in answers), strict=True)]


def _differs(answers: Answers, things: Things) -> bool:
    made = assigned(costs_of(answers, things), Weights())
    return set(made.optimal.pairs) != set(made.greedy.pairs)


def _alone(detector: Detector, memory: Tensor, place: Tensor) -> list[Found]:
    answers: Answers = detector.model.decoded(memory, place, self_attention=False)[-1]
    return found(answers)


def _said(detections: Sequence[Found], truth: Sequence[Things], labels: int) -> Said:
    right = sum(all_right(one, things) for one, things in zip(detections, truth, strict=True))
    sure = [each.above(SURE).things for each in detections]
    twice = sum(int(duplicates(each.labels, each.boxes_cxcywh).sum()) for each in sure)
    return Said(precision(detections, truth, labels), right / len(truth), twice / len(truth))
