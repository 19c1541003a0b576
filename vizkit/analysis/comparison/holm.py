"""Several tests at once: each p is judged as one of all of them (Holm 1979)."""

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction: p times the number of tests not yet decided, never falling, at most 1."""
    values = np.asarray(p)
    order = np.argsort(values)
    stepped = np.maximum.accumulate(values[order] * (len(values) - np.arange(len(values))))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected.tolist()
