"""Do models look at what decides? The deciding parts of drawn insects are erased, against as many other pixels of them.

The classes of the drawings differ in the parts that `insects.DECIDING` names and in nothing else. So a model that looks
there loses more of the class's logit when those are erased than when the rest of the insect is, pixel for pixel.
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, UInt8

from vizkit.analysis.comparison.perturbation import mean_colour
from vizkit.datasets import insects
from vizkit.image import prepare_all
from vizkit.models import Loaded
from vizkit.models.probes.model_functions import logits_of_batch
from vizkit.traces import NotApplicable

LEAST_PX = 12  # of a kind; with fewer there is nothing to erase
BATCH = 10
FRESH_SEED = 5  # as in `scoring`: drawn with it, insects were in no training
Mask = Bool[np.ndarray, "height width"]


class Pair(NamedTuple):
    """The same insect without deciding pixels, and without as many others; the two masks."""

    without_deciding: UInt8[np.ndarray, "height width 3"]
    without_others: UInt8[np.ndarray, "height width 3"]
    deciding: Mask
    others: Mask


class Deciding(NamedTuple):
    """Of every drawing, in logits of its class: what it loses without deciding pixels, and without as many others.
    `labels`: numbers of the classes; `skipped`: drawings that show too little of either."""

    labels: tuple[int, ...]
    deciding: tuple[float, ...]
    others: tuple[float, ...]
    skipped: int

    def mean(self, kind: str, label: int | None = None) -> tuple[float, float]:
        """Of "deciding", "others" or their "difference": the mean and the half width of its 95 % interval (normal)."""
        pairs = np.array([self.deciding, self.others])
        values = pairs[0] - pairs[1] if kind == "difference" else pairs[0 if kind == "deciding" else 1]
        values = values if label is None else values[np.array(self.labels) == label]
        if len(values) < 2:
            return float(values.mean()) if len(values) else float("nan"), float("nan")
        return float(values.mean()), 1.96 * float(values.std(ddof=1)) / sqrt(len(values))

    @property
    def larger(self) -> float:
        """The share of drawings that lose more without the deciding pixels."""
        return float(np.mean(np.array(self.deciding) > np.array(self.others)))


def erased_pair(sample: insects.Sample, seed: int = 0) -> Pair | None:
    """Of the larger of both kinds a blob as large as the smaller one is erased: the pixels nearest to one drawn at
    random. They become the picture's mean colour. None where less than 12 pixels of a kind are seen."""
    deciding = np.zeros_like(sample.insect)
    for part in insects.DECIDING[insects.LABELS[sample.label]]:
        deciding |= sample.mask(part)
    others = sample.insect & ~deciding
    count = min(int(deciding.sum()), int(others.sum()))
    if count < LEAST_PX:
        return None
    draw = np.random.default_rng(seed)
    one, other = (_blob(mask, count, draw) for mask in (deciding, others))
    return Pair(_without(sample.picture, one), _without(sample.picture, other), one, other)


def _blob(mask: Mask, count: int, draw: np.random.Generator) -> Mask:
    places = np.argwhere(mask)
    distance = ((places - places[draw.integers(len(places))]) ** 2).sum(1)
    near = places[np.argsort(distance, kind="stable")[:count]]
    blob = np.zeros_like(mask)
    blob[near[:, 0], near[:, 1]] = True
    return blob


def _without(picture: np.ndarray, mask: Mask) -> np.ndarray:
    out = picture.copy()
    out[mask] = mean_colour(picture)
    return out


def deciding_parts(
    loaded: Loaded, images: int, *, seed: int = FRESH_SEED, tell: Callable[[int, int], None] = lambda *_: None
) -> Deciding:
    """Of drawings that no bundled model has seen. `tell` hears (done, all) and may raise to stop. NotApplicable for a
    model whose classes are not those of the drawings."""
    places = {name: at for at, name in enumerate(loaded.labels)}
    if not loaded.classifies or not set(insects.LABELS) <= set(places):
        raise NotApplicable(f"{loaded.name} does not know the drawn insects: there is no deciding part to erase.")
    side_px = max(loaded.preprocessing.size_hw)
    labels, lost, skipped = [], [], 0
    logits = logits_of_batch(loaded)
    for start in range(0, images, BATCH):
        rows: list[np.ndarray] = []
        own: list[int] = []
        for index in range(start, min(start + BATCH, images)):
            sample = insects.draw(index, split="test", seed=seed, size_px=side_px)
            pair = erased_pair(sample, index)
            if pair is None:
                skipped += 1
                continue
            rows += [sample.picture, *pair[:2]]
            own.append(sample.label)
        if own:
            with torch.no_grad():
                values = logits(torch.from_numpy(prepare_all(rows, loaded.preprocessing))).cpu().view(len(own), 3, -1)
            classes = torch.tensor([places[insects.LABELS[label]] for label in own])
            of_class = values[torch.arange(len(own)), :, classes].double()
            labels += own
            lost += (of_class[:, :1] - of_class[:, 1:]).tolist()
        tell(min(start + BATCH, images), images)
    first, second = zip(*lost, strict=True) if lost else ((), ())
    return Deciding(tuple(labels), first, second, skipped)
