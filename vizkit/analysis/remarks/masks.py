"""What a mask does to the rows of a matrix of weights, and which hidden words a model guesses."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import Remark, counted, joined, of_all, percent
from vizkit.analysis.sequences.masks import Masked


def rows(result: Masked) -> Remark | None:
    """Of one head: how little is left of a row that is masked after the softmax; None where nothing is masked."""
    least = float(result.kept.min())
    if least > 1 - 1e-3:
        return None
    short = int((result.kept < 1 - 1e-3).sum())
    words = (
        f"Masked after the softmax, {counted(short, 'row sums', 'rows sum')} to less than 1, the first to "
        f"{float(result.kept[0]):.3f}; masked before it, every row sums to 1."
    )
    return Remark(words, {"least": least, "rows": short})


def strongest(weights: Float[Tensor, "query key"], queries: Sequence[str], keys: Sequence[str]) -> Remark:
    """Who looks at one other word most, of one head."""
    query, key = divmod(int(weights.argmax()), len(keys))
    share = float(weights[query, key])
    words = f"The largest weight is {percent(share)}: “{queries[query]}” at place {query + 1} looks at “{keys[key]}”."
    return Remark(words, {"share": share})


def guessed(truth: Sequence[str], guesses: Sequence[str], probabilities: Sequence[float]) -> Remark | None:
    """Hidden words and the likeliest guess at each; None where nothing is hidden."""
    if not truth:
        return None
    wrong = [(word, guess) for word, guess in zip(truth, guesses, strict=True) if word != guess]
    right = len(truth) - len(wrong)
    numbers = {"hidden": len(truth), "right": right}
    if len(truth) == 1:
        verb = "is right" if right else f"is wrong: it was “{truth[0]}”"
        return Remark(f"The guess “{guesses[0]}”, with {percent(probabilities[0])}, {verb}.", numbers)
    missed = f"; missed: {joined([f'“{word}”' for word, _ in wrong])}" if wrong else ""
    return Remark(f"Right at first guess: {of_all(right, len(truth), 'hidden word')}{missed}.", numbers)


def certain(word: str, probability: float, second: str) -> Remark:
    """The word that comes next, and what else might."""
    rest = "" if probability >= 0.995 else f", before “{second}”"
    return Remark(f"Most probable next: “{word}”, {percent(probability)}{rest}.", {"probability": probability})
