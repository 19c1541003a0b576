"""One model's answers to many pictures: every logit, in chunks that outlive a sudden end.

    answers = evaluate(loaded, open_pictures("photos/"))

A chunk is a batch and a part of `vizkit.explanations`, so a run that was killed and goes on, and a run of several
processes, answer in the same batches as one uninterrupted run. When all parts are there they become one file of all
logits, which is mapped rather than read:

    logits.npy, answers.json
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int
from torch import Tensor

from vizkit.datasets.image_set import ImageSet
from vizkit.evaluation.classes import EvaluationError, Known, known
from vizkit.explanations import passes
from vizkit.explanations.job import Speed, device_of
from vizkit.explanations.kept import Kept
from vizkit.explanations.parts import RunError
from vizkit.explanations.reading import Pixels
from vizkit.explanations.table import MANIFEST
from vizkit.models import Loaded
from vizkit.writing import write

CHUNK = {"cpu": 64, "cuda": 256}
Logits = Float32[np.ndarray, "image output"]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model said. `logits`: of the pictures `rows` (indices in the set), mapped from disk; `targets`: the
    model's class of each; `classes`: the model's class of each label of the set, −1 where it has none. `broken`: the
    place of each picture that was left out, and why. `note`: how many carry labels that it does not know, if any."""

    logits: Logits
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


class AnswerCache(Kept):
    """The folder of one model and one set of pictures."""

    @property
    def whole(self) -> bool:
        return (self.folder / "answers.json").is_file()

    @property
    def done(self) -> int:
        return sum(self.source.counts) if self.whole else super().done

    def finish(self, speed: Speed) -> None:
        """All parts in one file, broken pictures left out; then the parts go."""
        run, broken, first, outputs = self.run, dict[str, str](), 0, 0
        for number in range(len(run.counts)):
            table = run.read(number, ["key", "error", "logits"])
            for row, (key, why) in enumerate(zip(table["key"].to_pylist(), table["error"].to_pylist(), strict=True)):
                if why is not None:
                    broken[str(first + row)] = f"{key}: {why}"
            first += len(table)
            outputs = next((len(each) for each in table["logits"].drop_null()), outputs)

        def assemble(path: Path) -> None:
            with path.open("wb") as file:
                shape = (first - len(broken), outputs)
                np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
                for number in range(len(run.counts)):
                    logits = run.read(number, ["logits"])["logits"].combine_chunks().flatten()
                    file.write(np.ascontiguousarray(logits.to_numpy(zero_copy_only=False), "<f4").tobytes())

        write(self.folder / "logits.npy", assemble)
        seconds = speed.seconds
        facts = {"broken": broken, "seconds": seconds, "images_per_s": speed.per_s or speed.pictures / seconds}
        write(self.folder / "answers.json", json.dumps(facts, ensure_ascii=False))
        for name in (MANIFEST, *(run.path(number).name for number in range(len(run.counts)))):
            (self.folder / name).unlink(missing_ok=True)

    def facts(self) -> tuple[Logits, dict[str, Any]]:
        """Logits of the pictures that could be read, mapped from disk, and what `finish` noted."""
        os.utime(self.folder)
        logits = np.load(self.folder / "logits.npy", mmap_mode="r", allow_pickle=False)
        return logits, json.loads((self.folder / "answers.json").read_text(encoding="utf-8"))


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
