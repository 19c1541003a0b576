"""What a teacher and its students say of the same pictures, in one order of classes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.distillation.loss import same_labels
from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.traces import NotApplicable
from vizkit.views.distillation.classes import class_names
from vizkit.views.distillation.labelled import opened
from vizkit.views.subject import Subject

__all__ = ["Answers", "ask", "same"]

BATCH = 32


@dataclass(frozen=True)
class Answers:
    """Logits (image, label) of a teacher and of its students by name, all in the order of `classes`; the places of the
    true labels (image,)."""

    teacher: Tensor
    students: dict[str, Tensor]
    classes: tuple[str, ...]
    labels: Tensor


def same(name: str, teacher: Subject, students: Mapping[str, Subject]) -> tuple[dict[str, Tensor], list[str]]:
    """Where the teacher's classes stand among those of each student that has them; the others' sentences. NotApplicable
    where none has."""
    orders, refused, names = {}, list[str](), class_names(teacher)
    for each, student in students.items():
        try:
            orders[each] = same_labels(names, class_names(student), (name, each))
        except NotApplicable as sentence:
            refused.append(str(sentence))
    if not orders:
        raise NotApplicable(refused[0])
    return orders, refused


def ask(
    of: Subject, data: str | None, folder: str, images: int, teacher: Subject, students: Mapping[str, Subject],
    orders: Mapping[str, Tensor], progress: Callable[[int, int], None],
) -> Answers:  # fmt: skip
    """What all say of many labelled pictures."""
    from vizkit.image import prepare
    from vizkit.models.probes.model_functions import logits_of_batch

    pictures = opened(of, data, folder, images, max(teacher.loaded.preprocessing.size_hw))
    assert isinstance(pictures, ImageSet)
    classes = class_names(teacher)
    if strange := next((label for label in pictures.labels if label not in classes), None):
        raise NotApplicable(
            f"{pictures.name} shows {strange} and other classes that the teacher does not know; choose other pictures "
            "or another teacher."
        )
    found: dict[str, list[Tensor]] = {name: [] for name in ("", *students)}
    for start in range(0, len(pictures), BATCH):
        try:
            batch = [pictures[row][0] for row in range(start, min(start + BATCH, len(pictures)))]
        except DatasetError as sentence:
            raise NotApplicable(str(sentence)) from None
        for name, each in {"": teacher, **students}.items():
            pixels = torch.from_numpy(np.stack([prepare(rgb, each.loaded.preprocessing)[0] for rgb in batch]))
            with torch.no_grad():
                found[name].append(logits_of_batch(each.loaded)(pixels).cpu())
        progress(start + len(batch), len(pictures))
    logits = {name: torch.cat(parts) for name, parts in found.items()}
    places = torch.tensor([classes.index(label) for label in pictures.labels])
    taught = {name: logits[name][:, order] for name, order in orders.items()}
    return Answers(logits[""], taught, classes, places[torch.from_numpy(pictures.targets.copy())])
