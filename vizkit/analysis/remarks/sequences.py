"""What stands out when a model writes a text."""

from collections.abc import Sequence
from math import exp

from vizkit.analysis.remarks.remark import Remark, percent

SURE = 0.99


def of_beams(
    greedy: Sequence[str], texts: Sequence[Sequence[str]], log_probabilities: Sequence[float]
) -> Remark | None:
    """`greedy`: the text of the most probable word each time; `texts`: those of a beam search, the most probable
    first, with the logarithms of their probabilities."""
    if len(texts) < 2:
        return None
    first, second = (exp(each) for each in log_probabilities[:2])
    numbers = {"first": first, "second": second}
    best, other = ("".join(text) for text in texts[:2])
    if tuple(texts[0]) != tuple(greedy):
        return Remark(
            f"Taking the most probable word each time gives {''.join(greedy)}; the search finds a more probable text: "
            f"{best}, {percent(first)}.",
            numbers,
        )
    sure = " The model is sure: the search changes nothing." if first >= SURE else ""
    return Remark(f"{best} has {percent(first)}, the next text, {other}, {percent(second)}.{sure}", numbers)
