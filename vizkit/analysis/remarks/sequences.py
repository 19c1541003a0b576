"""What stands out when a model writes a text."""

from collections.abc import Mapping, Sequence
from math import exp

from vizkit.analysis.remarks.remark import Remark, joined, percent

SURE = 0.99
FORGOTTEN = 0.01
"""Of the largest gradient: below it a word hardly counts."""
KEPT = 0.5


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


def of_alignment(roles: Mapping[str, Mapping[str, float | int]]) -> Remark | None:
    """`roles`: of "year", "month" and "day" the fields of `analysis.sequences.alignment.Aligned`, measured over many
    dates."""
    shares = {role: of["hits"] / of["places"] for role, of in roles.items() if of["places"]}
    if not shares:
        return None
    most = joined([f"{percent(share)} of those of the {role}" for role, share in shares.items()])
    return Remark(f"Of the digits of unseen dates, {most} look most at the words that say the same.", shares)


def of_gradients(strengths: Mapping[str, Sequence[float]], words: Sequence[str]) -> Remark | None:
    """`strengths`: by model, of every word of the source, of the largest. Says whose first word hardly counts."""
    first = {name: each[0] for name, each in strengths.items()}
    forgetful = [name for name, share in first.items() if share < FORGOTTEN]
    mindful = [name for name in first if name not in forgetful]
    numbers = dict(first)
    if not forgetful:
        weakest = min(first, key=first.__getitem__)
        return Remark(
            f"No model has forgotten the first word, “{words[0]}”: even in the {weakest} its gradient is "
            f"{percent(first[weakest])} of the largest.",
            numbers,
        )
    rest = f"; in the {joined(mindful)} it counts" if mindful else ""
    return Remark(
        f"In the {joined(forgetful)} the gradient of the first word, “{words[0]}”, is below {percent(FORGOTTEN)} of "
        f"the largest{rest}.",
        numbers,
    )


def of_forget_gates(left: Sequence[float], words: Sequence[str]) -> Remark:
    """`left`: how much of what was written at each word is in the cell at the end, mean over the units."""
    kept = [i for i, share in enumerate(left) if share >= KEPT]
    first = min(kept, default=len(left) - 1)
    return Remark(
        f"After the last word {percent(left[0])} of what was written at the first, “{words[0]}”, is left in the cell, "
        f"mean over the units; half or more from word {first + 1}, “{words[first]}”, on.",
        {"first": left[0], "from": first + 1},
    )


def of_times(exponents: Mapping[str, float], what: str) -> Remark:
    """`exponents`: by model, p of time ~ lengthᵖ; `what`: "training" or "writing"."""
    each = joined([f"{name} {power:.1f}" for name, power in exponents.items()])
    work = "a step of training" if what == "training" else "writing an answer"
    return Remark(f"Between the three longest texts the time of {work} grows with the length to the power: {each}.",
                  dict(exponents))  # fmt: skip


def of_memory(shares: Mapping[str, Sequence[float]], at: Sequence[int], learned: int, along: str) -> Remark | None:
    """`shares`: by network, of answers wholly right at each of `at`; `learned`: the largest that was trained with."""
    inside = [i for i, value in enumerate(at) if value <= learned]
    outside = [i for i, value in enumerate(at) if value > learned]
    if not (inside and outside and shares):
        return None
    last, beyond = inside[-1], outside[-1]
    ends = {name: (each[last], each[beyond]) for name, each in shares.items()}
    best = max(ends, key=lambda name: ends[name])
    numbers = {f"{name} at {at[place]}": each[place] for name, each in shares.items() for place in (last, beyond)}
    others = joined([f"{name} {percent(inner)}" for name, (inner, _) in ends.items() if name != best])
    return Remark(
        f"At the largest that was learned, {at[last]} {along}: {best} {percent(ends[best][0])}, {others}; at "
        f"{at[beyond]} even the {best} gives {percent(ends[best][1])}.",
        numbers,
    )
