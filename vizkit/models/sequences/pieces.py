"""The words of other people's models: pieces of words, as their tokenizers know them.

Only tokenizer.json and vocab.json are read, which hold data; other files of a folder may name paths or run code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vizkit.models.sources.checkpoint import read_json
from vizkit.models.sources.hub import ModelError
from vizkit.vocabulary import TextError, Vocabulary

__all__ = ["Pieces", "pieces_of"]

MAX_TOKENIZER_BYTES = 64 * 2**20
LONGEST_TEXT = 2000  # characters
SPACE = "▁"  # how SentencePiece writes the blank before a word (Kudo & Richardson 2018)


@dataclass(frozen=True)
class Pieces(Vocabulary):
    """A vocabulary that begins as it likes. `tokenizer`: the library's, None where there is only the list."""

    tokenizer: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if len(set(self.words)) != len(self.words):
            raise ValueError("A piece stands twice in the vocabulary.")

    def named(self, *words: str) -> tuple[int, ...]:
        """The numbers of those of these pieces that there are."""
        return tuple(self.numbers[word] for word in words if word in self.numbers)

    def split(self, text: str) -> tuple[str, ...]:
        """A text in pieces, by the tokenizer, else the longest pieces from the left. TextError where it has none."""
        text = " ".join(text[:LONGEST_TEXT].split())
        if self.tokenizer is not None:
            pieces = tuple(self.spelled(self.tokenizer.encode(text, add_special_tokens=False).ids))
        else:
            pieces = tuple(piece for word in text.split() for piece in self._longest(SPACE + word))
        if not pieces:
            raise TextError("There is no text: type a word at least.")
        return pieces

    def joined(self, pieces: Sequence[str]) -> str:
        """Pieces as the text that they are of."""
        if self.tokenizer is not None:
            return self.tokenizer.decode(self.ids(pieces)).strip()
        return "".join(pieces).replace(SPACE, " ").strip()

    def _longest(self, rest: str) -> list[str]:
        pieces = []
        while rest:
            length = next((end for end in range(len(rest), 0, -1) if rest[:end] in self.numbers), 0)
            if not length:
                raise TextError(f"The model knows no “{rest.removeprefix(SPACE)[:24]}”.")
            pieces.append(rest[:length])
            rest = rest[length:]
        return pieces


def pieces_of(folder: Path, title: str, count: int) -> Pieces:
    """The `count` pieces of a folder, those without a name called by their number. ModelError where there is no list or
    a damaged one."""
    tokenizer, path = None, folder / "tokenizer.json"
    if path.is_file() and path.stat().st_size <= MAX_TOKENIZER_BYTES:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(path))
            tokenizer.no_truncation()
            tokenizer.no_padding()
        except Exception as error:  # whatever its parser raises
            raise ModelError(f"The tokenizer.json of {title} is damaged; get it again.") from error
        numbers = tokenizer.get_vocab(with_added_tokens=True)
    elif (folder / "vocab.json").is_file():
        numbers = read_json(folder / "vocab.json", title)
    else:
        raise ModelError(f"{title} has neither tokenizer.json nor vocab.json, which say what its words are.")
    words = {number: word for word, number in numbers.items() if isinstance(number, int) and 0 <= number < count}
    try:
        return Pieces(tuple(words.get(number, f"[piece {number}]") for number in range(count)), tokenizer)
    except ValueError:
        raise ModelError(f"The vocabulary of {title} names a piece twice.") from None
