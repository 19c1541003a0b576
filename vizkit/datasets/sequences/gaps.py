"""Copy or reverse some letters after a gap: what has to be remembered, and for how long, are numbers to choose.

The tasks by which recurrent networks were tested for memory (Hochreiter and Schmidhuber 1997, § 5; Graves et al. 2014,
arXiv 1410.5401, § 4.1): "b f a c . . . . ?" → "b f a c", or "c a f b".
"""

import random
from collections.abc import Sequence

from vizkit.vocabulary import SPECIAL, TextError, Vocabulary

LETTERS = tuple("abcdefgh")
DOT, QUESTION = ".", "?"
MOST_LETTERS, LONGEST_GAP = 8, 24
"""In the training pairs; a longer text can be asked for."""
LONGEST = 64
VOCABULARY = Vocabulary((*SPECIAL, *LETTERS, DOT, QUESTION))


def source(letters: tuple[str, ...], gap: int) -> tuple[str, ...]:
    """The letters, `gap` dots and the question mark."""
    return (*letters, *[DOT] * gap, QUESTION)


def answer(letters: tuple[str, ...], task: str) -> tuple[str, ...]:
    """The letters as they were ("copy") or from the last to the first ("reverse")."""
    return letters if task == "copy" else letters[::-1]


def letters(source: Sequence[str]) -> tuple[str, ...]:
    """Those of a source that are to be said again."""
    return tuple(word for word in source if word in LETTERS)


def random_letters(rng: random.Random, count: int) -> tuple[str, ...]:
    return tuple(rng.choice(LETTERS) for _ in range(count))


def split(text: str) -> tuple[str, ...]:
    """The tokens of a typed text: letters a to h, then dots, then a question mark, which may be left out.

    TextError where it is something else.
    """
    words = tuple(text.lower().replace(" ", "")[:500])
    if words and words[-1] != QUESTION:
        words = (*words, QUESTION)
    letters = tuple(word for word in words if word in LETTERS)
    if not letters or words != source(letters, len(words) - len(letters) - 1):
        raise TextError("Type letters from a to h, then as many dots as you like, such as “bfac....?”.")
    if len(words) > LONGEST:
        raise TextError(f"This text has {len(words)} tokens; at most {LONGEST} can be read.")
    return words
