"""Pairs of a source and its target by the name of the task, drawn from seeds, the test's never seen in training."""

import datetime
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.sequences import dates, gaps
from vizkit.vocabulary import Vocabulary

Split = Literal["train", "val", "test"]

TASKS: dict[str, str] = {
    "dates": "dates from 1900 to 2099 in 17 spellings, to be written as 2026-11-21",
    "copy": "letters to be repeated after a gap",
    "reverse": "letters to be said backwards after a gap",
}


@dataclass(frozen=True)
class Pair:
    """`roles`: of dates, what each token of the source says ("year", "month", "day", "weekday" or "")."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairSet:
    """`count` pairs of a split. The same name, split, count and seed give the same pairs on every machine.

    `letters` and `gap`: of "copy" and "reverse", how many there are; None: any number up to that of the training.
    """

    name: str
    split: Split
    count: int
    seed: int = 0
    letters: int | None = None
    gap: int | None = None

    @property
    def vocabulary(self) -> Vocabulary:
        return vocabulary_of(self.name)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        rng = random.Random(f"{self.name} {self.split} {self.seed}")
        draw = _date if self.name == "dates" else _letters
        return tuple(draw(self, rng) for _ in range(self.count))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Pair:
        return self.pairs[index]

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)


def open_pairs(
    name: str, split: Split, *, count: int, seed: int = 0, letters: int | None = None, gap: int | None = None
) -> PairSet:
    """Pairs of a task of `TASKS`; DatasetError where there is none of this name or no pair. `letters`, `gap`: see
    PairSet."""
    vocabulary_of(name)
    if count < 1:
        raise DatasetError("A set of pairs has one at least.")
    return PairSet(name, split, count, seed, letters, gap)


def vocabulary_of(name: str) -> Vocabulary:
    """The words of a task; DatasetError where there is none of this name."""
    if name not in TASKS:
        raise DatasetError(f"There is no task {name[:40]!r}; there are {', '.join(TASKS)}.")
    return dates.VOCABULARY if name == "dates" else gaps.VOCABULARY


def split_text(name: str, text: str) -> tuple[str, ...]:
    """The tokens of a text typed for a task; TextError says in a sentence what cannot be read."""
    vocabulary_of(name)
    return dates.split(text) if name == "dates" else gaps.split(text)


def _part_of(*what: object) -> Split:
    """Where something belongs for ever, whatever the seed: 8 of 10 in train, 1 in val, 1 in test."""
    place = random.Random(repr(what)).randrange(10)
    return "test" if place == 0 else "val" if place == 1 else "train"


def _date(of: PairSet, rng: random.Random) -> Pair:
    """A day of this split: a day belongs to one split in all its spellings."""
    while True:
        date: datetime.date = dates.random_date(rng)
        if _part_of(date.isoformat()) == of.split:
            break
    written = dates.write(date, rng.choice(dates.SPELLINGS))
    return Pair(written.words, dates.iso(date), written.roles)


def _letters(of: PairSet, rng: random.Random) -> Pair:
    """Letters of this split, after a gap of any length. Up to three letters are too few to be divided."""
    gap = rng.randrange(gaps.LONGEST_GAP + 1) if of.gap is None else of.gap
    while True:
        count = rng.randint(1, gaps.MOST_LETTERS) if of.letters is None else of.letters
        letters = gaps.random_letters(rng, count)
        if count <= 3 or _part_of(letters) == of.split:
            return Pair(gaps.source(letters, gap), gaps.answer(letters, of.name))
