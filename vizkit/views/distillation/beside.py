"""Whose answers stand beside a model's own on the same image: its teacher's, those of the two tokens of a DeiT, and
that of the same network trained alone."""

from typing import NamedTuple

from torch import Tensor

from vizkit.analysis.distillation.loss import same_labels
from vizkit.models.probes.two_heads import has_two_tokens, two_heads
from vizkit.views import bundled
from vizkit.views.distillation.classes import class_names
from vizkit.views.distillation.labelled import own_teacher, trained_alone
from vizkit.views.subject import Subject

TEACHER, CLS, DIST, MEAN, ALONE = (
    "the teacher",
    "the class token",
    "the distillation token",
    "the mean of both",
    "the network trained alone",
)


class Answer(NamedTuple):
    """(label) in the order of the model that is asked; `about`: whose it is."""

    logits: Tensor
    about: str


def answers_of(of: Subject, names: tuple[str, ...]) -> dict[str, Answer]:
    """By what they are called in a sentence, so far as they are at hand; `names`: of the classes of the model."""
    tokens = has_two_tokens(of.loaded.model)
    found = {MEAN if tokens else of.name: Answer(of.seen.logits, "the model's answer")}
    if tokens:
        heads = of.kept("two heads", lambda: two_heads(of.loaded, of.pixels))
        taught = "learned from the teacher alone"
        both = {DIST: Answer(heads.dist[0], taught), CLS: Answer(heads.cls[0], "learned from the labels")}
        found = both | found  # the one beside whom it learned from
    if teacher := own_teacher(of):
        called = f"{bundled.title(teacher.name)}, on the same image"
        found = {TEACHER: Answer(_in_order(of, teacher, names), called)} | found
    if alone := trained_alone(of):
        called = f"{bundled.title(alone.name)}: the same recipe without a teacher"
        found[ALONE] = Answer(_in_order(of, alone, names), called)
    return found


def _in_order(of: Subject, other: Subject, names: tuple[str, ...]) -> Tensor:
    return other.seen.logits[same_labels(names, class_names(other), (of.name, other.name))]
