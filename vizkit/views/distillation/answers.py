"""What a teacher and its students say of the same pictures, in one order of classes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vizkit.analysis.distillation.loss import same_labels
from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.image import RGB
from vizkit.traces import NotApplicable
from vizkit.views.distillation.classes import class_names
from vizkit.views.subject import Subject

BATCH = 32
Student = tuple[Subject, Tensor]
"""And where the teacher's classes stand among its own."""


@dataclass(frozen=True)
class Answers:
    """Logits (image, label) of a teacher and of its students by name, all in the order of `classes`; the places of the
    true labels (image,)."""

    teacher: Tensor
    students: dict[str, Tensor]
    classes: tuple[str, ...]
    labels: Tensor


def same(name: str, teacher: Subject, students: Mapping[str, Subject]) -> tuple[dict[str, Student], list[str]]:
    """The students that have the teacher's classes; the others' sentences. NotApplicable where none has."""
    found, refused, names = dict[str, Student](), list[str](), class_names(teacher)
    for each, student in students.items():
        try:
            found[each] = student, same_labels(names, class_names(student), (name, each))
        except NotApplicable as sentence:
            refused.append(str(sentence))
    if not found:
        raise NotApplicable(refused[0])
    return found, refused


def ask(
    pictures: ImageSet, teacher: Subject, students: Mapping[str, Student], progress: Callable[[int, int], None]
) -> Answers:
    """What all say of many labelled pictures."""
    classes = class_names(teacher)
    if strange := next((label for label in pictures.labels if label not in classes), None):
        raise NotApplicable(
            f"{pictures.name} shows {strange} and other classes that the teacher does not know; choose other pictures "
            "or another teacher."
        )
    own, found = list[Tensor](), {name: list[Tensor]() for name in students}
    for start in range(0, len(pictures), BATCH):
        try:
            batch = [pictures[row][0] for row in range(start, min(start + BATCH, len(pictures)))]
        except DatasetError as sentence:
            raise NotApplicable(str(sentence)) from None
        own.append(logits_of(teacher, batch))
        for name, (student, order) in students.items():
            found[name].append(logits_of(student, batch)[:, order])
        progress(start + len(batch), len(pictures))
    places = torch.tensor([classes.index(label) for label in pictures.labels])
    labels = places[torch.from_numpy(pictures.targets.copy())]
    return Answers(torch.cat(own), {name: torch.cat(parts) for name, parts in found.items()}, classes, labels)


def logits_of(of: Subject, batch: Sequence[RGB]) -> Tensor:
    from vizkit.image import prepare_all
    from vizkit.models.probes.model_functions import logits_of_batch

    pixels = torch.from_numpy(prepare_all(batch, of.loaded.preprocessing))
    with torch.no_grad():
        return logits_of_batch(of.loaded)(pixels).cpu()
