"""The words of other people's models: pieces of words, as their tokenizers know them.

Only tokenizer.json and vocab.json are read, which hold data; other files of a folder may name paths or run code.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from vizkit.models.sources.checkpoint import read_json
from vizkit.models.sources.hub import ModelError
from vizkit.tokenizing import Tokenizer, TokenizerError
from vizkit.vocabulary import TextError, Vocabulary

LONGEST_TEXT, MOST_PIECES = 2000, 1024  # characters, and what a tokenizer may make of them
SPACE = "▁"  # how SentencePiece writes the blank before a word (Kudo & Richardson 2018)


@dataclass(frozen=True)
class Pieces(Vocabulary):
    """A vocabulary that begins as it likes. `tokenizer`: the library's, None where there is only the list."""

    tokenizer: Tokenizer | None = field(default=None, compare=False)

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
            pieces = self._by_tokenizer(text)
        else:
            pieces = tuple(piece for word in text.split() for piece in self._longest(SPACE + word))
        if not pieces:
            raise TextError("There is no text: type a word at least.")
        if len(pieces) > MOST_PIECES:
            raise TextError(f"This text has {len(pieces):,} pieces, more than {MOST_PIECES:,}: type a shorter one.")
        return pieces

    def joined(self, pieces: Sequence[str]) -> str:
        """Pieces as the text that they are of."""
        if self.tokenizer is not None:
            with suppress(TokenizerError):  # its own words are then shown as they are
                return self.tokenizer.text(self.ids(pieces)).strip()
        return "".join(pieces).replace(SPACE, " ").strip()

    def _by_tokenizer(self, text: str) -> tuple[str, ...]:
        assert self.tokenizer is not None
        try:
            return tuple(self.spelled(self.tokenizer.ids([text])[0]))
        except IndexError:
            raise TextError("The tokenizer gives words that the model does not have; type other ones.") from None
        except TokenizerError as error:
            raise TextError(f"This text cannot be read: the tokenizer of the model {error}.") from None

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
    try:
        tokenizer = Tokenizer.of_file(folder / "tokenizer.json")
        words = tokenizer.words(count) if tokenizer else None
    except TokenizerError as error:
        raise ModelError(f"The tokenizer.json of {title} {error}.") from error
    if words is None and (folder / "vocab.json").is_file():
        numbers = read_json(folder / "vocab.json", title)
        named = {number: word for word, number in numbers.items() if isinstance(number, int)}
        words = [named.get(number) for number in range(count)]
    if words is None:
        raise ModelError(f"{title} has neither tokenizer.json nor vocab.json, which say what its words are.")
    try:
        return Pieces(tuple(f"[piece {i}]" if word is None else word for i, word in enumerate(words)), tokenizer)
    except ValueError:
        raise ModelError(f"The vocabulary of {title} names a piece twice.") from None
