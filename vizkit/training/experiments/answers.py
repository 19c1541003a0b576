"""Many pictures, several models, one answer each: what a distilled student, its teacher and others choose first."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from vizkit.datasets.image_set import ImageSet
from vizkit.image import Preprocessing, prepare_all
from vizkit.models.probes.two_heads import refuse_one_token, two_heads
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable

BATCH = 64
CLASS, DIST, BOTH, TEACHER = "class token", "distillation token", "both averaged", "teacher"
Answers = Int[np.ndarray, " image"]


@dataclass(frozen=True)
class Answered:
    """Class indices, in the student's order of classes, for every image. `labels`: None where there are none."""

    images: int
    answers: dict[str, Answers]  # CLASS, DIST, BOTH, then others by name
    teacher: Answers | None
    labels: Answers | None


def ask(
    student: Loaded,
    teacher: Loaded | None,
    pictures: Sequence[np.ndarray] | ImageSet,
    others: Mapping[str, Loaded] | None = None,
    *,
    tell: Callable[[int], None] = lambda _: None,
    working: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Answered:
    """The first choices of all models on all pictures, each preprocessed as its own model wants it. `others`: by name.

    `tell` gets how many pictures are done; `working` is entered while models run. Raises NotApplicable for a student
    without two tokens and for models of other classes, DatasetError on a damaged picture.
    """
    refuse_one_token(student)
    compared = dict(others or {}) | ({TEACHER: teacher} if teacher else {})
    for model in compared.values():
        _refuse_other_classes(student, model)
    labels = _places(pictures, student)
    predictions: dict[str, list[Tensor]] = {name: [] for name in (CLASS, DIST, BOTH, *compared)}
    for start in range(0, len(pictures), BATCH):
        batch = [_picture_of(pictures, row) for row in range(start, min(start + BATCH, len(pictures)))]
        with working(), torch.no_grad():
            heads = two_heads(student, _pixels_of(batch, student.preprocessing))
            outputs = [heads.cls, heads.dist, heads.averaged]
            outputs += [
                model.model(_pixels_of(batch, model.preprocessing).to(model.device)) for model in compared.values()
            ]
        for rows, logits in zip(predictions.values(), outputs, strict=True):
            rows.append(logits.argmax(-1).cpu())
        tell(start + len(batch))
    answers = {name: torch.cat(rows).numpy() for name, rows in predictions.items()}
    return Answered(len(pictures), answers, answers.pop(TEACHER, None), labels)


def _pixels_of(pictures: Sequence[np.ndarray], needs: Preprocessing) -> Tensor:
    return torch.from_numpy(prepare_all(pictures, needs))


def _picture_of(pictures: Sequence[np.ndarray] | ImageSet, row: int) -> np.ndarray:
    return pictures[row][0] if isinstance(pictures, ImageSet) else pictures[row]


def _places(pictures: Sequence[np.ndarray] | ImageSet, student: Loaded) -> Answers | None:
    """The label of every picture as the student counts its classes; None where it does not know them by name."""
    if not isinstance(pictures, ImageSet) or not set(pictures.labels) <= set(student.labels):
        return None
    return np.array([student.labels.index(label) for label in pictures.labels])[pictures.targets]


def _refuse_other_classes(student: Loaded, other: Loaded) -> None:
    if not other.labels or other.labels != student.labels or not other.head.exclusive:
        names = (model.name.removeprefix("bundled:") for model in (student, other))
        raise NotApplicable("{} and {} do not know the same classes, so their answers cannot agree.".format(*names))
