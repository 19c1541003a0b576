"""A stranger's tokenizer.json: opened and asked in processes of their own, see `isolated`.

A few hundred bytes of it make the library abort, panic or write a million tokens for a word, at any text and not only
when it is opened; so every text goes there.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vizkit.isolated import EndedError, Pool, RefusedError

MAX_BYTES = 64 * 2**20  # that of SigLIP 2 takes 34 MB
SECONDS, BYTES_PER_S = 1.0, 10_000_000  # of the processor, for any texts; and to read, of which 40 MB take 1.2 s
PLACES = 2  # tokenizers at work, for all sessions together: they stay in memory, one in each process
MOST_CHARACTERS = 20_000  # given, or made; in all texts together
MOST_TOKENS = 50_000
TRIAL = "The animal didn't cross the street: 3 × 7 = 21, Größe, 猫は座った, 🐞 <s>[CLS] a@b.org\n" * 4


class TokenizerError(ValueError):
    """A tokenizer cannot be used; the message goes on after what it is called: "… is damaged; get it again"."""


class _BusyError(ValueError):
    """All workers are taken."""


TOKENIZERS = Pool(__name__, PLACES, _BusyError)


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A tokenizer of the library of this name, far away; `data`: of a tokenizer.json. It is tried on a text when it is
    made. Every call raises TokenizerError, and nothing else."""

    data: bytes

    def __post_init__(self) -> None:
        if ids := self.ids([TRIAL])[0]:
            self.text(ids[:64])

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @classmethod
    def of_file(cls, path: Path) -> "Tokenizer | None":
        """None where there is none."""
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise TokenizerError(f"takes more than {MAX_BYTES >> 20} MiB")
        return cls(data)

    def words(self, count: int) -> list[str | None]:
        """The first `count`; None for numbers that have none."""
        return self._ask("words", count=count)

    def number(self, word: str) -> int | None:
        return self._ask("number", word=word)

    def ids(self, texts: Sequence[str], special: bool = False, longest: int | None = None) -> list[list[int]]:
        """Of each text its tokens; `special`: with those around it; `longest`: cut after so many."""
        return self._ask("ids", texts=list(texts), special=special, longest=longest)

    def text(self, ids: Sequence[int]) -> str:
        return self._ask("text", ids=list(ids))

    def _ask(self, call: str, **given: Any) -> Any:
        try:
            with TOKENIZERS.worker(self.digest) as worker:
                if worker.holds != self.digest:
                    worker.holds = ""
                    worker.ask(b"open\n", self.data, seconds=SECONDS + len(self.data) / BYTES_PER_S)
                    worker.holds = self.digest
                return json.loads(worker.ask(f"{call}\n".encode(), json.dumps(given).encode(), seconds=SECONDS))
        except RefusedError as error:
            raise TokenizerError(str(error)) from None
        except _BusyError:
            raise TokenizerError("has to wait, for many are at work; try again a little later") from None
        except EndedError as end:
            late = f"takes more than {SECONDS:g} s for a text"
            raise TokenizerError(late if end.late else "is damaged; get it again") from None


# ---- in the process of a worker --------------------------------------------------------------------------------------
_held: Any = None


def answer(question: bytes) -> bytes:
    call, _, given = question.partition(b"\n")
    try:
        if call == b"open":
            _open(given)
            return b""
        return json.dumps(_CALLS[call.decode()](**json.loads(given))).encode()
    except RefusedError:
        raise
    except Exception as error:  # whatever the library raises; a panic is no Exception, and ends the process
        reason = " ".join(str(error).split())[:100].rstrip(".")
        raise RefusedError(f"is damaged ({reason}); get it again" if call == b"open" else f"fails: {reason}") from None


def _open(data: bytes) -> None:
    from tokenizers import Tokenizer as Library

    global _held
    _held = None
    opened = Library.from_str(data.decode())
    opened.no_padding()
    _held = opened


def _words(count: int) -> list[str | None]:
    numbers = _held.get_vocab(with_added_tokens=True)
    words = {number: word for word, number in numbers.items() if 0 <= number < count}
    return [words.get(number) for number in range(count)]


def _ids(texts: list[str], special: bool, longest: int | None) -> list[list[int]]:
    _refuse_above(MOST_CHARACTERS, sum(map(len, texts)), "characters")
    _held.no_truncation() if longest is None else _held.enable_truncation(longest)
    rows = []
    for text in texts:
        rows.append(_held.encode(text, add_special_tokens=special).ids)
        _refuse_above(MOST_TOKENS, sum(map(len, rows)), "tokens")
    return rows


def _text(ids: list[int]) -> str:
    text = _held.decode(ids)
    _refuse_above(MOST_CHARACTERS, len(text), "characters")
    return text


def _refuse_above(most: int, found: int, what: str) -> None:
    if found > most:
        raise RefusedError(f"makes {found:,} {what} of a text, more than {most:,}")


_CALLS = {"words": _words, "ids": _ids, "text": _text, "number": lambda word: _held.token_to_id(word)}
