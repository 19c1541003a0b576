"""What a table of answers to labelled pictures says first."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int

from vizkit.analysis.remarks.remark import Remark, counted, joined, of_all, percent


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


def ahead(train: Sequence[float], validation: Sequence[float], harder: Sequence[str]) -> Remark:
    """Which of the two accuracies is ahead, 0 to 1 epoch by epoch, and why. `harder`: what is done to training pictures
    alone ("are turned")."""
    gap, first, last = validation[-1] - train[-1], percent(validation[-1]), percent(train[-1])
    numbers = {"gap": gap, "epochs": len(train)}
    begin = f"After {counted(len(train), 'epoch')} {first} of the validation pictures are right and {last} of those in "
    begin += "training"
    if gap <= 0:
        return Remark(f"{begin}: what it has learned of its training pictures holds less for others.", numbers)
    done = f" {joined(harder)} and" if harder else ""
    why = f"training pictures{done} are judged while the weights still change, validation pictures only after the epoch"
    return Remark(f"{begin}. Validation is better because {why}, as they are.", numbers)


def best_run(tests: Mapping[str, tuple[float, int]]) -> Remark | None:
    """Of runs by name the share of test pictures that is right, 0 to 1, and how many there are: the best against the
    next. None for less than two."""
    if len(tests) < 2:
        return None
    (best, (right, images)), (second, (less, others)) = sorted(tests.items(), key=lambda run: -run[1][0])[:2]
    half = 1.96 * math.sqrt(right * (1 - right) / images + less * (1 - less) / others)
    words = f"Of these {len(tests)} runs {best} is right most often, on {100 * right:.1f} % of the test pictures"
    if right - less <= half:
        told = f"{words}; {second} with {100 * less:.1f} % is not told apart from it by so few pictures and one seed."
        return Remark(told, {"gap": right - less})
    return Remark(f"{words}; then {second} with {100 * less:.1f} %.", {"gap": right - less})
