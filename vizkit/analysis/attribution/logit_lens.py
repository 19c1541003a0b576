"""What is read off the layers of one image: from where on an answer is there, and what patches say."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor


def stays_from(answers: Sequence[int], target: int) -> int | None:
    """The first layer, from 0, from which on every answer is `target`; None where the last one is not."""
    others = [layer for layer, answer in enumerate(answers) if answer != target]
    first = others[-1] + 1 if others else 0
    return first if first < len(answers) else None


def runner_up(values: Float[Tensor, " label"], target: int) -> int | None:
    """The likeliest class but for `target`; None where there is no other."""
    order = values.argsort(descending=True).tolist()
    return next((label for label in order if label != target), None)


def frequent(said: Int[Tensor, "row column"], most: int) -> list[tuple[int, int]]:
    """(class, how many patches say it), the most frequent first, at most so many."""
    labels, counts = said.unique(return_counts=True)
    pairs = zip(labels.tolist(), counts.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:most]
