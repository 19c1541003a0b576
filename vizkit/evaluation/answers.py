"""One model's answers to many pictures: every logit, in chunks that outlive a sudden end.

    answers = evaluate(loaded, open_pictures("photos/"))

A chunk is a batch. Which pictures are in it follows from the set alone, so a run that was killed and goes on, and a run
of several processes, answer in the same batches as one uninterrupted run.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float32, Int

from vizkit.datasets.image_set import ImageSet
from vizkit.evaluation.answer_cache import AnswerCache, Chunk, key_of, weights_digest
from vizkit.evaluation.classes import EvaluationError, Known, known
from vizkit.explanations.reading import Prepared, loader, pixels_on
from vizkit.explanations.source import Item, OfSet
from vizkit.models import Loaded
from vizkit.shortage import memory_short

if TYPE_CHECKING:
    from accelerate import Accelerator


CHUNK = {"cpu": 64, "cuda": 256}
Tell = Callable[[int, int, float], None]  # pictures answered, of how many, pictures a second since the start


class StoppedError(Exception):
    """It was stopped; what is answered is kept."""


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
    the device. `stopping` is called after each batch. With an `accelerator` every process answers every n-th batch, the
    first one writes; the others get None. Raises EvaluationError in one sentence, StoppedError when `stopping` is true.
    """
    matched = known(loaded.name, loaded.labels, images, loaded.head)
    pictures = images if len(matched.rows) == len(images) else images.take(matched.rows)
    size = chunk or CHUNK.get(loaded.device.type, CHUNK["cpu"])
    weights = weights_digest(loaded.model)
    kept = AnswerCache.of(key_of(loaded, weights, pictures.digest, size), len(pictures), size)
    main = accelerator is None or accelerator.is_main_process
    fill(loaded, pictures, kept, workers, tell, stopping, accelerator)
    if not main:
        return None
    kept.finish()
    return read(kept, images, matched, weights)


def fill(
    loaded: Loaded,
    pictures: ImageSet,
    kept: AnswerCache,
    workers: int,
    tell: Tell,
    stopping: Callable[[], bool],
    accelerator: "Accelerator | None",
) -> None:
    """Answer what is missing. All processes walk in step: one round is one batch of each."""
    number, processes = (accelerator.process_index, accelerator.num_processes) if accelerator else (0, 1)
    missing = _agreed(kept.missing() if number == 0 else [], accelerator)
    done = len(pictures) - sum(len(kept.rows(chunk)) for chunk in missing)
    tell(done, len(pictures), 0.0)
    own = _chunks(loaded, pictures, kept, missing[number::processes], workers)
    started = last = time.perf_counter()
    fresh = 0
    for _ in range(-(-len(missing) // processes)):
        mine = next(own, None)
        every = gathered((stopping(), mine), accelerator)
        pieces = [piece for _, piece in every if piece is not None]
        now = time.perf_counter()
        for which, chunk in pieces:
            if number == 0:
                kept.write(which, Chunk(chunk.logits, chunk.broken, (now - last) / len(pieces)))
            fresh += len(chunk.logits)
        last = now
        tell(done + fresh, len(pictures), fresh / max(1e-9, now - started))
        if any(stop for stop, _ in every):
            raise StoppedError


def _chunks(
    loaded: Loaded, pictures: ImageSet, kept: AnswerCache, numbers: list[int], workers: int
) -> Iterator[tuple[int, Chunk]]:
    """The chunks `numbers` in order."""
    data = Prepared(OfSet(pictures.name, pictures.digest, (), set=pictures), loaded.preprocessing)
    asked = (
        (number, [Item(pictures.place(row), None, row) for row in kept.rows(number).tolist()]) for number in numbers
    )
    for read in loader(data, asked, workers, pin=loaded.device.type == "cuda"):
        broken = {row: f"{read.keys[row]}: {why}" for row, why in enumerate(read.errors) if why}
        yield read.part, _answered(loaded, _logits_of(loaded, read.seen), broken)


@torch.no_grad()  # not inference_mode: what a model caches on the way may enter a graph later
def _logits_of(loaded: Loaded, seen: torch.Tensor) -> torch.Tensor:
    try:
        logits = loaded.model(pixels_on(loaded.device, seen, loaded.preprocessing).to(loaded.dtype))
    except (RuntimeError, MemoryError) as error:
        if not (owner := memory_short(error)):
            raise
        elsewhere = "" if loaded.device.type == "cpu" else "the CPU, "
        raise EvaluationError(
            f"{loaded.name} needs more memory than {owner} has for {len(seen)} pictures at once: choose {elsewhere}"
            "a smaller image size or model."
        ) from error
    if not isinstance(logits, torch.Tensor) or logits.dim() != 2:
        raise EvaluationError(f"{loaded.name} gives no class for a picture; choose a model that classifies.")
    return logits.float()


def _answered(loaded: Loaded, logits: torch.Tensor, broken: dict[int, str]) -> Chunk:
    rows = logits.cpu().numpy()
    good = [row for row in range(len(rows)) if row not in broken]
    if not np.isfinite(rows[good]).all():
        raise EvaluationError(f"{loaded.name} answers with values that are no numbers: its weights are damaged.")
    rows[list(broken)] = np.nan
    return Chunk(rows, broken, 0.0)


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
def _agreed(mine: list[int], accelerator: "Accelerator | None") -> list[int]:
    """The first process's list, for all."""
    if accelerator is None or accelerator.num_processes == 1:
        return mine
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([mine])[0]


def gathered(mine: Any, accelerator: "Accelerator | None") -> list[Any]:
    """What each process has, for all of them."""
    if accelerator is None or accelerator.num_processes == 1:
        return [mine]
    from accelerate.utils import gather_object

    return gather_object([mine])
