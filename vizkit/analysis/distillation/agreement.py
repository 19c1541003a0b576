"""How often models give the same first answer as the labels, and as a teacher (Touvron et al. 2021, § 5.2, table 4)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

Answers = Int[np.ndarray, " image"]

PUBLISHED = {  # DeiT-B on ImageNet's validation images; the paper prints the share that differs, here is 1 minus it
    "DeiT without a teacher": (0.818, 0.867),
    "class token": (0.830, 0.888),
    "distillation token": (0.831, 0.900),
    "both averaged": (0.834, 0.898),
    "teacher, RegNetY-16GF": (0.829, 1.0),
}
"""Name → (agreement with the label, with the teacher)."""


@dataclass(frozen=True)
class Row:
    """Shares of images, 0 to 1; None where there is nothing to compare with."""

    name: str
    with_label: float | None
    with_teacher: float | None


def table(answers: Mapping[str, Answers], labels: Answers | None, teacher: Answers | None) -> list[Row]:
    """One row for each of `answers` (name → class index of every image). ValueError where the numbers differ."""
    return [Row(name, share(predicted, labels), share(predicted, teacher)) for name, predicted in answers.items()]


def share(one: Answers, other: Int[np.ndarray, " other"] | None) -> float | None:
    """How often two lists of answers are equal. None without the other one."""
    if other is None:
        return None
    if one.shape != other.shape or not len(one):
        raise ValueError(f"Answers are compared image by image, not {len(one)} with {len(other)}.")
    return float((one == other).mean())


def standard_error(share: float, images: int) -> float:
    """Of a share of independent images: √(p (1 − p) / N)."""
    return math.sqrt(share * (1 - share) / images)
