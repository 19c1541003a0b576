"""One model's answers to many pictures: every logit, in chunks that outlive a sudden end.

    answers = evaluate(loaded, open_pictures("photos/"))

A chunk is a batch and a part of `vizkit.explanations`, so a run that was killed and goes on, and a run of several
processes, answer in the same batches as one uninterrupted run.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int
from torch import Tensor

from vizkit.datasets.image_set import ImageSet
from vizkit.evaluation.answer_cache import AnswerCache
from vizkit.evaluation.classes import EvaluationError, Known, known
from vizkit.explanations import passes
from vizkit.explanations.job import device_of
from vizkit.explanations.parts import RunError
from vizkit.explanations.reading import Pixels
from vizkit.models import Loaded

CHUNK = {"cpu": 64, "cuda": 256}


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model said. `logits`: of the pictures `rows` (indices in the set), mapped from disk; `targets`: the
    model's class of each; `classes`: the model's class of each label of the set, −1 where it has none. `broken`: the
    place of each picture that was left out, and why. `note`: how many carry labels that it does not know, if any."""

    logits: Float32[np.ndarray, "image output"]
    rows: Int[np.ndarray, " image"]
    targets: Int[np.ndarray, " image"]
    classes: Int[np.ndarray, " label"]
    broken: dict[str, str]
    note: str
    weights: str
    images_per_s: float
    seconds: float


def evaluate(
    loaded: Loaded,
    images: ImageSet,
    *,
    chunk: int = 0,
    **how: Any,
) -> Answers:
    """Answers of `loaded` to every picture whose label it knows, each prepared as in the app; cached ones are reused.

    `chunk`: pictures a batch, by default what suits the device. `how`: `workers`, `tell` and `stopping` as `Kept.fill`
    has them. Raises EvaluationError in one sentence, StoppedError.
    """
    matched = known(loaded.name, loaded.labels, images, loaded.head)
    pictures = images if len(matched.rows) == len(images) else images.take(matched.rows)
    size = chunk or CHUNK.get(device_of(loaded), CHUNK["cpu"])
    kept = AnswerCache.of(loaded, pictures, size, lambda: _Judged(loaded), "answers")
    try:
        kept.fill(**how)
    except RunError as error:
        raise EvaluationError(str(error)) from error
    return read(kept, images, matched)


class _Judged(passes.Answers):
    """Logits that can be judged. EvaluationError for others."""

    def forward(self, pixels: Pixels) -> Tensor:
        logits = super().forward(pixels)
        if not isinstance(logits, Tensor) or logits.dim() != 2:
            raise EvaluationError(f"{self.loaded.name} gives no class for an image; choose a model that classifies.")
        if not bool(torch.isfinite(logits).all()):
            sentence = f"{self.loaded.name} answers with values that are no numbers: its weights are damaged."
            raise EvaluationError(sentence)
        return logits


def read(kept: AnswerCache, images: ImageSet, matched: Known) -> Answers:
    """What is kept, in the rows of the whole set."""
    logits, facts = kept.facts()
    broken = {int(row): why for row, why in facts.pop("broken").items()}
    rows = np.delete(matched.rows, list(broken))
    if not len(rows):
        why = next(iter(broken.values()))
        raise EvaluationError(f"None of the {len(images):,} images of {images.name} can be read; {why}")
    places = {images.place(int(matched.rows[row])): why for row, why in broken.items()}
    targets = matched.classes[images.targets[rows]]
    return Answers(logits, rows, targets, matched.classes, places, matched.note, kept.weights, **facts)
