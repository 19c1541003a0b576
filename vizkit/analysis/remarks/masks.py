"""What a mask does to the rows of a matrix of weights, and which hidden words a model guesses."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import counted, joined, of_all, percent
from vizkit.analysis.sequences.masks import Masked


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
    query, key = divmod(int(weights.argmax()), len(keys))
    share = float(weights[query, key])
    return f"The largest weight is {percent(share)}: “{queries[query]}” at place {query + 1} looks at “{keys[key]}”."


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


def certain(word: str, probability: float, second: str) -> str:
    """The word that comes next, and what else might."""
    rest = "" if probability >= 0.995 else f", before “{second}”"
    return f"Most probable next: “{word}”, {percent(probability)}{rest}."
