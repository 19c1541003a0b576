"""Which words there are, and their numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

PAD, BEGIN, END, MASK, ARROW = range(5)
SPECIAL = ("[PAD]", "[BEGIN]", "[END]", "[MASK]", "→")
"""The first words of every vocabulary; the arrow stands between source and target where both are one line of text."""


class TextError(ValueError):
    """A text that no model of this vocabulary can read; the message is one sentence for the user."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of a task, a word's number being its place: the special ones of `SPECIAL` first, none twice."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.words[: len(SPECIAL)] != SPECIAL:
            raise ValueError(f"A vocabulary begins with {', '.join(SPECIAL)}.")
        if len(set(self.words)) != len(self.words):
            raise ValueError("A word stands twice in the vocabulary.")

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def ids(self, words: Iterable[str]) -> list[int]:
        """The numbers of these words; TextError names the first unknown one."""
        ids = []
        for word in words:
            if word not in self.numbers:
                raise TextError(f"The model knows no “{word[:24]}”: it has {len(self) - len(SPECIAL)} words only.")
            ids.append(self.numbers[word])
        return ids

    def spelled(self, ids: Sequence[int]) -> list[str]:
        """The words of these numbers."""
        return [self.words[number] for number in ids]
