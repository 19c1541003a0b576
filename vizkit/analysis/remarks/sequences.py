"""What stands out when a model writes a text."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, zip_longest
from types import MappingProxyType

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import counted, joined, of_all, percent
from vizkit.analysis.sequences.masks import Masked
from vizkit.vocabulary import BEGIN, END, SPECIAL

FORGOTTEN = 0.01
"""Of the largest gradient: below it a word hardly counts."""
KEPT, ABLE = 0.5, 0.95
LOOKS = "looks most at"


def of_answer(
    model: str,
    became: str,
    truth: Sequence[str],
    written: Sequence[str],
    named: str | None,
    true: str | None,
    forced: Mapping[int, str] = MappingProxyType({}),
    *,
    exists: bool = True,
) -> str:
    """What a model writes beside what is right, where that is known; of a date the weekday that the text names and that
    which it was, where they differ. `forced`: by place from 1 the words that somebody else wrote. `exists`: whether
    there is such a date."""
    own = [word for word in written if word != SPECIAL[END]]
    said = f"The {model} writes “{became}”"
    if forced:
        given = joined([f"“{word}” as word {place}" for place, word in forced.items()])
        said = f"Given {given}, the {model} comes to “{became}”"
    if not truth:
        return f"{said}; {'what is right is not known' if exists else 'the text names a day that does not exist'}."
    wrong = sum(one != other for one, other in zip_longest(own, truth))
    answer = f"{said}, which is right" if not wrong else f"{said}, which is wrong"
    right = f": right is “{''.join(truth)}”, {counted(wrong, 'place differs', 'places differ')}" if wrong else ""
    day = "" if named in (None, true) else f" The text names a {str(named).title()}; it was a {str(true).title()}."
    return f"{answer}{right}.{day}"


def row_names(words: Sequence[str]) -> list[str]:
    """Of who looks: a word of a text that is read; of one that is written, from [BEGIN] to the last word, the one that
    is read and the one that is written then."""
    return [f"{read} → {write}" for read, write in pairwise(words)] if words[0] == SPECIAL[BEGIN] else [*words]


def looker(words: Sequence[str], row: int) -> str:
    """The same in a sentence; [BEGIN] is word 0."""
    if words[0] == SPECIAL[BEGIN]:
        return f"to write “{words[row + 1]}” (word {row + 1}), it"
    return word_of(words, row)


def word_of(words: Sequence[str], at: int, of: str = "") -> str:
    """A word, and of one that stands there more than once which it is."""
    place = at + (words[0] != SPECIAL[BEGIN])
    return f"“{words[at]}”" + (f" (word {place}{of})" if words.count(words[at]) > 1 else "")


def of_look(queries: Sequence[str], row: int, keys: Sequence[str], shares: Sequence[float], verb: str = LOOKS) -> str:
    """What is looked at most in a row of weights; `queries` and `keys` as in `looker`."""
    most = max(range(len(shares)), key=shares.__getitem__)
    key = word_of(keys, most, " of the source" if queries[0] == SPECIAL[BEGIN] != keys[0] else "")
    return f"{looker(queries, row)} {verb} {key}, {percent(shares[most])}."


def of_both(
    layer: int,
    head: int,
    word: tuple[str, str, float],
    patch: tuple[int, int, float],
    special: Mapping[str, float],
) -> str:
    """In a head of both models: who looks most at which word, and the place (row, column) at which the marked
    patch looks most, behind the `special` token, by name, at which it looks more; as multiples of an equal share."""
    query, key, times = word
    row, column, most = patch
    first = max(special, key=special.__getitem__, default="")
    more = f"[{first}], {special[first]:.1f} times, and among patches at " if first and special[first] > most else ""
    return (
        f"Layer {layer}, head {head}: {query} {LOOKS} {key}, {times:.1f} times an equal share; the marked patch at "
        f"{more}row {row}, column {column}, {most:.1f} times."
    )


def of_alignment(roles: Mapping[str, Mapping[str, float | int]]) -> str | None:
    """`roles`: of "year", "month" and "day" the fields of `analysis.sequences.alignment.Aligned`, measured over many
    dates."""
    shares = {role: of["hits"] / of["places"] for role, of in roles.items() if of["places"]}
    if not shares:
        return None
    most = joined([f"{percent(share)} of the {role}'s digits" for role, share in shares.items()])
    return f"A digit looks most at the word that says the same: in unseen dates {most} do."


def of_gradients(strengths: Mapping[str, Sequence[float]], words: Sequence[str]) -> str | None:
    """`strengths`: by model, of every word of the source, of the largest. Says whose first word hardly counts."""
    first = {name: each[0] for name, each in strengths.items()}
    forgetful = [name for name, share in first.items() if share < FORGOTTEN]
    mindful = [name for name in first if name not in forgetful]
    if not forgetful:
        weakest = min(first, key=first.__getitem__)
        return (
            f"No model has forgotten the first word, “{words[0]}”: even in the {weakest} its gradient is "
            f"{percent(first[weakest])} of the largest."
        )
    rest = f"; in the {joined(mindful)} it counts" if mindful else ""
    return (
        f"In the {joined(forgetful)} the gradient of the first word, “{words[0]}”, is below {percent(FORGOTTEN)} of "
        f"the largest{rest}."
    )


def of_undrawn(below: Mapping[str, int], words: int, floor: float) -> str:
    """By model, how many words of a text have a gradient below `floor` of the largest: no point stands for them."""
    each = [f"{counted(count, 'word')} of {words} in the {name}" for name, count in below.items() if count]
    return f"Below 1 ⁄ {1 / floor:,.0f} of the largest and not drawn: {joined(each)}." if each else ""


def of_forget_gates(left: Sequence[float], words: Sequence[str]) -> str:
    """`left`: how much of what was written at each word is in the cell at the end, mean over the units."""
    kept = [i for i, share in enumerate(left) if share >= KEPT]
    first = min(kept, default=len(left) - 1)
    return (
        f"After the last word {percent(left[0])} of what was written at the first, “{words[0]}”, is left in the cell, "
        f"mean over the units; half or more from word {first + 1}, “{words[first]}”, on."
    )


def of_states(mean: float, words: Sequence[str]) -> str:
    """`mean`: the size of a number of the states, over all units and words; an RNN has no gate that would keep it."""
    return (
        f"After every word of {len(words)} all states are made anew: a number of them is {mean:.2f} in size on "
        "average, and no gate keeps any of it."
    )


def of_ends(runs: Mapping[str, Sequence[Sequence[float]]], at: Sequence[int], learned: int, unit: str) -> str:
    """`runs`: by network, of every seed the share of answers wholly right at each of `at`; `learned`: the largest that
    was trained with. Which networks are right there, how often the others are that learned the task, and what is left
    of each of the former beyond it: where all are below half, or of the worst at the end."""
    means = {name: [sum(shares) / len(every) for shares in zip(*every, strict=True)] for name, every in runs.items()}
    last = max((i for i, value in enumerate(at) if value <= learned), default=0)
    within = {name: share[last] for name, share in means.items()}
    able = [name for name, share in within.items() if share >= ABLE] or [max(within, key=within.__getitem__)]
    others = sorted(
        {name for name in within if means[name][0] >= KEPT} - {*able}, key=lambda name: (-within[name], name)
    )
    give = "give" if len(able) > 1 else "gives"

    def at_least(shares: Sequence[float]) -> str:
        least = percent(min(shares))
        return least if min(shares) == max(shares) or least.startswith("more") else f"{least} or more"

    each = [
        f"the {joined(able)} {give} {at_least([within[name] for name in able])} right answers",
        *(f"the {name} {percent(within[name])}" for name in others),
    ]
    said = f"At {at[last]} {unit}, the most that was learned, {joined(each)}"
    beyond = range(last + 1, len(at))
    left = {i: [means[name][i] for name in able] for i in beyond}
    fallen = next((i for i in beyond if max(left[i]) < KEPT), None)
    if not beyond:
        return f"{said}."
    if fallen is None:
        return f"{said}; at {at[-1]}, beyond it, the former {give} {at_least(left[len(at) - 1])} still."
    each = [f"the {name}{'' if i else ' gives'} {percent(left[fallen][i])}" for i, name in enumerate(able)]
    return f"{said}; {at[fallen] - at[last]} beyond it {joined(each)}."


def of_unlearned(runs: Mapping[str, Sequence[Sequence[float]]], at: Sequence[int], unit: str) -> str:
    """As `of_ends`: which networks are wrong more often than right where least is asked; "" where none is."""
    first = {name: sum(run[0] for run in every) / len(every) for name, every in runs.items()}
    one = unit.removesuffix("s") if at[0] == 1 else unit
    return "".join(
        f" The {name} never learned the task: {percent(share)} right answers at {at[0]} {one}."
        for name, share in first.items()
        if share < KEPT
    )


# ---- masks and hidden words --------------------------------------------------------------------------------------
def rows(result: Masked) -> str | None:
    """Of one head: how little is left of a row that is masked after the softmax; None where nothing is masked."""
    least = float(result.kept.min())
    if least > 1 - 1e-3:
        return None
    short = int((result.kept < 1 - 1e-3).sum())
    return (
        f"Masked after the softmax, {counted(short, 'row sums', 'rows sum')} to less than 1, the first to "
        f"{float(result.kept[0]):.3f}; masked before it, every row sums to 1."
    )


def strongest(weights: Float[Tensor, "query key"], queries: Sequence[str], keys: Sequence[str]) -> str:
    """Who looks at one other word most, of one head."""
    row = int(weights.argmax()) // weights.shape[1]
    return f"The largest weight: {of_look(queries, row, keys, weights[row].tolist())}"


def guessed(truth: Sequence[str], guesses: Sequence[str], probabilities: Sequence[float]) -> str | None:
    """Hidden words and the likeliest guess at each; None where nothing is hidden."""
    if not truth:
        return None
    wrong = [(word, guess) for word, guess in zip(truth, guesses, strict=True) if word != guess]
    right = len(truth) - len(wrong)
    if len(truth) == 1:
        verb = "is right" if right else f"is wrong: it was “{truth[0]}”"
        return f"The guess “{guesses[0]}”, with {percent(probabilities[0])}, {verb}."
    missed = f"; missed: {joined([f'“{word}”' for word, _ in wrong])}" if wrong else ""
    return f"Right at first guess: {of_all(right, len(truth), 'hidden word')}{missed}."


def certain(word: str, probability: float, second: str, right: str) -> str:
    """The word that comes next, what else might, and what is right; "" where nobody knows."""
    rest = "" if probability >= 0.995 else f", before “{second}”"
    verdict = f"; right is “{right}”" if right not in ("", word) else ", which is right" if right else ""
    return f"Most probable next: “{word}”, {percent(probability)}{rest}{verdict}."
