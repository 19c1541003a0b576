"""What a table of answers to labelled pictures says first."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from vizkit.analysis.remarks.remark import Remark, of_all, percent


def most_frequent_mistake(
    counts: Int[np.ndarray, "label answer"], labels: Sequence[str], answers: Sequence[str]
) -> Remark | None:
    """`counts`: the diagonal is right; there may be one more answer than labels. None where all is right, or no mistake
    was made twice."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    row, column = divmod(int(wrong.argmax()), wrong.shape[1])
    times, of_label = int(wrong[row, column]), int(counts[row].sum())
    if times < 2:
        return None
    return Remark(
        f"The most frequent mistake: “{labels[row]}” is taken for “{answers[column]}”, on "
        f"{of_all(times, of_label, 'picture')} ({percent(times / of_label)}).",
        {"times": times, "of": of_label},
    )
