"""One model's answers to many pictures: every logit, in chunks that outlive a sudden end.

    answers = evaluate(loaded, open_pictures("photos/"))

A chunk is a batch and a part of `vizkit.explanations`, so a run that was killed and goes on, and a run of several
processes, answer in the same batches as one uninterrupted run.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float32, Int
from torch import Tensor

from vizkit.datasets.image_set import ImageSet
from vizkit.evaluation.answer_cache import AnswerCache, key_of, weights_digest
from vizkit.evaluation.classes import EvaluationError, Known, known
from vizkit.explanations import passes
from vizkit.explanations.job import work
from vizkit.explanations.parts import Run
from vizkit.explanations.reading import Pixels
from vizkit.explanations.source import of_set
from vizkit.models import Loaded
from vizkit.shortage import memory_short

if TYPE_CHECKING:
    from accelerate import Accelerator


CHUNK = {"cpu": 64, "cuda": 256}
Tell = Callable[[int, int, float], None]  # pictures answered, of how many, pictures a second since the start


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
    workers: int = 0,
    chunk: int = 0,
    tell: Tell = lambda *_: None,
    stopping: Callable[[], bool] = lambda: False,
    accelerator: "Accelerator | None" = None,
) -> Answers | None:
    """Answers of `loaded` to every picture whose label it knows, each prepared as in the app; cached ones are reused.

    `workers`: processes that read pictures while the model computes. `chunk`: pictures a batch, by default what suits
    the device. `stopping` is called after each batch. Of several processes with an `accelerator` each answers what no
    other has begun, see `explanations.parts`; only the first gets the answers. Raises EvaluationError in one sentence,
    StoppedError when `stopping` is true.
    """
    matched = known(loaded.name, loaded.labels, images, loaded.head)
    pictures = images if len(matched.rows) == len(images) else images.take(matched.rows)
    size = chunk or CHUNK.get(loaded.device.type, CHUNK["cpu"])
    weights = weights_digest(loaded.model)
    kept = AnswerCache.of(key_of(loaded, weights, pictures.digest, size))
    main = accelerator is None or accelerator.is_main_process
    if not kept.whole:
        fill(loaded, pictures, kept, size, workers, tell, stopping, main)
    return read(kept, images, matched, weights) if main else None


def fill(
    loaded: Loaded,
    pictures: ImageSet,
    kept: AnswerCache,
    size: int,
    workers: int,
    tell: Tell,
    stopping: Callable[[], bool],
    finish: bool,
) -> None:
    """Answer what is missing, a part a batch, together with whoever does the same."""
    source, began = of_set(pictures, size), time.perf_counter()
    try:
        kept.folder.mkdir(parents=True, exist_ok=True)
        run = Run.begin(kept.folder, {"pictures": source.digest}, source.counts)
        missing = sum(source.counts[number] for number in run.missing())
        tell(len(pictures) - missing, len(pictures), 0.0)
        how = {"batch": size, "workers": workers, "tell": tell, "stopping": stopping, "compare": False}
        speed = work(source, _Judged(loaded), run, loaded, **how)
        if finish:
            now = time.perf_counter()
            later = (missing - speed.first) / max(1e-9, now - speed.began)  # the first batch includes the start
            kept.finish(run, now - began, later or missing / (now - began))
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise EvaluationError(f"The answers cannot be kept in {kept.folder.parent}: {why}.") from error
    except (RuntimeError, MemoryError) as error:
        if not (owner := memory_short(error)):
            raise
        elsewhere = "" if loaded.device.type == "cpu" else "the CPU, "
        raise EvaluationError(
            f"{loaded.name} needs more memory than {owner} has for a picture: choose {elsewhere}a smaller image size "
            "or model."
        ) from error


class _Judged(passes.Answers):
    """Logits that can be judged. EvaluationError for others."""

    def forward(self, pixels: Pixels) -> Tensor:
        logits = super().forward(pixels)
        if not isinstance(logits, Tensor) or logits.dim() != 2:
            raise EvaluationError(f"{self.loaded.name} gives no class for a picture; choose a model that classifies.")
        if not bool(torch.isfinite(logits).all()):
            sentence = f"{self.loaded.name} answers with values that are no numbers: its weights are damaged."
            raise EvaluationError(sentence)
        return logits


def read(kept: AnswerCache, images: ImageSet, matched: Known, weights: str) -> Answers:
    """What is kept, in the rows of the whole set."""
    logits, facts = kept.facts()
    broken = {int(row): why for row, why in facts["broken"].items()}
    rows = np.delete(matched.rows, list(broken))
    if not len(rows):
        why = next(iter(broken.values()))
        raise EvaluationError(f"None of the {len(images):,} pictures of {images.name} can be read; {why}")
    places = {images.place(int(matched.rows[row])): why for row, why in broken.items()}
    targets = matched.classes[images.targets[rows]]
    return Answers(
        logits, rows, targets, matched.classes, places, matched.note, weights, facts["images_per_s"], facts["seconds"]
    )


# ---- several processes -----------------------------------------------------------------------------------------------
def gathered(mine: Any, accelerator: "Accelerator | None") -> list[Any]:
    """What each process has, for all of them."""
    if accelerator is None or accelerator.num_processes == 1:
        return [mine]
    from accelerate.utils import gather_object

    return gather_object([mine])
