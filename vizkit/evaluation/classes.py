"""Which class of a model each label of the pictures is. A model is judged only on what it can answer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from vizkit.analysis.comparison.class_names import match
from vizkit.datasets.image_set import ImageSet, SentenceError
from vizkit.heads import SOFTMAX, Head

MOST_NAMED = 4
UNKNOWN = -1


class EvaluationError(SentenceError):
    """A model cannot be judged on these pictures."""


@dataclass(frozen=True, eq=False)
class Known:
    """`classes`: the model's class of each label of the set, UNKNOWN where it has none. `rows`: the pictures that carry
    a label it knows, ascending. `note`: how many others there are, empty if none."""

    classes: Int[np.ndarray, " label"]
    rows: Int[np.ndarray, " known"]
    note: str


def known(model: str, names: Sequence[str], images: ImageSet, head: Head = SOFTMAX) -> Known:
    """Match the labels of `images` with a model's class `names`. Raises EvaluationError where none matches, and for a
    `head` of which accuracy has no meaning."""
    if head.unjudged:
        raise EvaluationError(head.left_out(model))
    if not names:
        raise EvaluationError(f"{model} does not say what its classes are called, so no label can be compared with it.")
    indices = match(images.labels, names)
    classes = np.array([UNKNOWN if index is None else index for index in indices], np.int64)
    rows = np.flatnonzero(classes[images.targets] != UNKNOWN)
    if not len(rows):
        raise EvaluationError(
            f"{model} knows no label of {images.name}: its classes are {listed(names)}; the labels are "
            f"{listed(images.labels)}."
        )
    left = len(images) - len(rows)
    strange = [label for label, index in zip(images.labels, indices, strict=True) if index is None]
    of_the_set = f"{len(strange)} of {len(images.labels)} labels ({listed(strange)})"
    note = f"{model} does not know {of_the_set}: {left:,} of {len(images):,} images are left out." if left else ""
    return Known(classes, rows, note)


def listed(names: Sequence[str]) -> str:
    """The first of them, each cut."""
    return ", ".join(name[:40] for name in names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
