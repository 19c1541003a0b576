"""What the vectors of words have learned: kinds that are alike, neighbours in order, one word at two places."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import of_all, percent

LITTLE = 0.02  # of a cosine
MANY = 1 / 3
MOST = 0.5


def kind(alike: Float[Tensor, "word word2"], own: Sequence[int], name: str) -> str | None:
    """Whether the words of a kind are more alike than they are to all others; None for less than three of them.

    `alike`: cosines of the words of a vocabulary; `own`: numbers of those that are meant, in their order, if any.
    """
    rest = [at for at in range(len(alike)) if at not in set(own)]
    if len(own) < 3 or not rest:
        return None
    inside = alike[own][:, own]
    pairs = [float(inside[i, j]) for i in range(len(own)) for j in range(i)]
    next_to = [float(inside[i, i + 1]) for i in range(len(own) - 1)]
    within, across = sum(pairs) / len(pairs), float(alike[own][:, rest].mean())
    after = (sum(pairs) - sum(next_to)) / (len(pairs) - len(next_to))
    near = sum(next_to) / len(next_to)
    more = "more alike than" if within > across + LITTLE else "no more alike than"
    order = (
        f"; neighbours in order {near:.2f}, others {after:.2f}"
        if near > after + LITTLE
        else "; their order cannot be seen in it"
    )
    words = f"The {name} are {more} they are to other words: mean cosine {within:.2f} and {across:.2f}{order}."
    return words.replace("-", "−")


def partners(
    alike: Float[Tensor, "word word2"], pairs: Sequence[tuple[int, int]], names: Sequence[str], name: str
) -> str | None:
    """How many words are nearest to the one that says the same, of all words; None for less than a third of them.
    `pairs`: (a word, its partner)."""
    others = alike.clone().fill_diagonal_(-2.0)
    nearest = others.argmax(-1).tolist()
    near = [(word, other) for word, other in pairs if nearest[word] == other]
    if len(near) < MANY * len(pairs) or not near:
        return None
    word, other = near[-1]
    return (
        f"Of all {len(alike)} words “{names[other]}” is nearest to “{names[word]}”, cosine "
        f"{float(alike[word, other]):.2f}; a word that says the same is nearest to "
        f"{of_all(len(near), len(pairs), 'word')} of the {name}."
    )


def nearest(alike: Float[Tensor, "word word2"], names: Sequence[str]) -> str:
    """The two words that are most alike."""
    others = alike.clone().fill_diagonal_(-2.0)
    first, second = divmod(int(others.argmax()), len(names))
    cosine = float(alike[first, second])
    words = f"Of these words “{names[first]}” and “{names[second]}” are most alike: cosine {cosine:.2f}."
    return words.replace("-", "−")


def explained(share: float) -> str:
    """Of the variance of the vectors, by both components."""
    little = ": most of what tells the words apart is not in this plane" if share < MOST else ""
    return f"The two components hold {percent(share)} of the variance{little}."


def twins(word: str, places: tuple[int, int], cosines: Sequence[float]) -> str:
    """One word at two places, counted from 1. `cosines`: of the word's vectors, with positions, after the encoder."""
    _, begun, ended = cosines[0], cosines[1], cosines[-1]
    words = (
        f"“{word}” at places {places[0]} and {places[1]}: one word vector, cosine 1.00; with their positions "
        f"{begun:.2f}; after the encoder {ended:.2f}."
    )
    return words.replace("-", "−")
