"""Which pictures to show of a set, so that all its classes are seen, and how evenly the classes are filled."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Int

UNBALANCED = 3.0
"""From here on a class is called small: the largest has so many times its pictures."""


def balanced_rows(targets: Int[np.ndarray, " image"], count: int) -> Int[np.ndarray, " row"]:
    """At most `count` rows: the first picture of every class, then the second, and so on; of more classes than `count`
    some, spread evenly."""
    classes = np.unique(targets)
    if len(classes) > count:
        classes = classes[np.linspace(0, len(classes) - 1, count).astype(int)]
    by_class = [np.flatnonzero(targets == each)[:count] for each in classes]
    rows = [rows[turn] for turn in range(count) for rows in by_class if turn < len(rows)]
    return np.array(rows[:count], np.int64)


def imbalance(counts: Mapping[str, int]) -> list[str]:
    """Classes with pictures of which the largest has at least UNBALANCED times as many; the smallest first."""
    largest = max(counts.values(), default=0)
    small = [label for label, count in counts.items() if 0 < count * UNBALANCED <= largest]
    return sorted(small, key=lambda label: counts[label])
