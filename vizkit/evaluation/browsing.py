"""Which pictures of an evaluation to look at, and in which order: by label, by what a model answered, by mistakes,
and by whether the models disagree. Pure functions of what was judged; no picture is opened."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from vizkit.evaluation.measures import Judged

ALL, MISTAKES, DISAGREE = KINDS = ("all", "mistakes", "models disagree")
ORDERS: dict[str, Callable[[Judged], np.ndarray]] = {
    "hardest first": lambda judged: -judged.loss,
    "most confident first": lambda judged: -judged.probability,
    "least confident first": lambda judged: judged.probability,
    "as in the set": lambda judged: np.zeros(len(judged.target)),
}
"""What is sorted by, ascending; equal pictures stay in the order of the set."""


@dataclass(frozen=True)
class Filter:
    """`label`, `answer`: numbers of labels (an answer may be `others`, their count), None for any. `kind`: of KINDS."""

    label: int | None = None
    answer: int | None = None
    kind: str = ALL


def common_answers(
    answers: Sequence[Int[np.ndarray, " image"]], classes: Sequence[Sequence[str]]
) -> Int[np.ndarray, "model image"]:
    """Answers of several models, each in its own classes, as numbers that are equal where the classes' names are.

    Classes without a name are equal to nothing but themselves.
    """
    numbers: dict[object, int] = {}
    common = []
    for model, (answer, names) in enumerate(zip(answers, classes, strict=True)):
        used, place = np.unique(answer, return_inverse=True)
        keys = [names[number] if number < len(names) else (model, number) for number in used.tolist()]
        common.append(np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)[place])
    return np.stack(common)


def disagreement(answers: Int[np.ndarray, "model image"]) -> Bool[np.ndarray, " image"]:
    """Whether not all models give the same answer; nowhere where there is one model."""
    return (answers != answers[:1]).any(0)


def matching(judged: Judged, disagree: Bool[np.ndarray, " image"], chosen: Filter) -> Int[np.ndarray, " some"]:
    """Places of the pictures that pass, in the order of the set. `judged`: of the model whose answers are meant."""
    passes = np.ones(len(judged.target), bool)
    if chosen.label is not None:
        passes &= judged.target == chosen.label
    if chosen.answer is not None:
        passes &= judged.label == chosen.answer
    if chosen.kind == MISTAKES:
        passes &= ~judged.right
    elif chosen.kind == DISAGREE:
        passes &= disagree
    return np.flatnonzero(passes)


def ordered(judged: Judged, images: Int[np.ndarray, " some"], order: str) -> Int[np.ndarray, " some"]:
    """The same places in one of ORDERS."""
    return images[np.argsort(ORDERS[order](judged)[images], kind="stable")]


def paged(count: int, page: int, size: int) -> tuple[int, slice]:
    """How many pages of `size` there are, at least 1, and the places on `page`, counted from 1; beyond: the last."""
    pages = max(1, -(-count // size))
    start = (min(max(page, 1), pages) - 1) * size
    return pages, slice(start, min(start + size, count))
