"""Who goes into which split: seeded, in the same shares for every class, and independent of the order of files.

Every picture has a key, such as its class and file name. Within a class the pictures stand in the order of a hash of
seed and key. A class therefore does not notice what happens to the others, and a picture added to a class moves a
few of that class at the borders between splits, not all of them.
"""

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int

FIRST_SERVED = ("train", "test", "val")  # where a class has fewer pictures than there are splits


def _ranks(targets: Int[np.ndarray, " image"], keys: Sequence[str], seed: int) -> Int[np.ndarray, " image"]:
    """The place of every picture, from 0, in the seeded order of its own class."""
    hashes = np.array([_hash(key, seed) for key in keys])
    order = np.lexsort((hashes, targets))
    starts = np.concatenate([[0], np.cumsum(np.bincount(targets))])
    places = np.empty(len(targets), np.int64)
    places[order] = np.arange(len(targets)) - starts[targets[order]]
    return places


def divide(
    targets: Int[np.ndarray, " image"], keys: Sequence[str], seed: int, shares: Mapping[str, float]
) -> dict[str, Int[np.ndarray, " _"]]:
    """Ascending rows of each split. `shares`: split → its share; the first one takes what rounding leaves.

    A class is in every split if it has as many pictures as there are splits; else train comes first, then test.
    """
    place, sizes = _ranks(targets, keys, seed), np.bincount(targets)
    ends = np.array([np.cumsum(counts(int(size), shares)) for size in sizes])  # (class, split)
    split_of_each = (place[:, None] >= ends[targets]).sum(1)
    return {split: np.flatnonzero(split_of_each == i) for i, split in enumerate(shares)}


def counts(pictures: int, shares: Mapping[str, float]) -> list[int]:
    """How many pictures of one class each split is given, in the order of `shares`."""
    splits, total = list(shares), sum(shares.values())
    if pictures < len(splits):
        served = [split for split in FIRST_SERVED if split in splits][:pictures]
        return [int(split in served) for split in splits]
    taken, left = [], pictures
    for others, split in zip(range(len(splits) - 1, 0, -1), splits[1:], strict=True):  # `others` still need one each
        taken.append(min(max(1, round(pictures * shares[split] / total)), left - others))
        left -= taken[-1]
    return [left, *taken]


def fair_choice(
    targets: Int[np.ndarray, " image"], keys: Sequence[str], images: int, seed: int
) -> Int[np.ndarray, " chosen"]:
    """Ascending rows of `images` pictures, every class in proportion; a smaller choice is part of a larger one."""
    share = (_ranks(targets, keys, seed) + 0.5) / np.bincount(targets)[targets]
    return np.sort(np.lexsort((targets, share))[:images])


def _hash(key: str, seed: int) -> int:
    # Composed letters: macOS hands out names decomposed, and a split should survive the way to another machine.
    text = f"{seed}/{unicodedata.normalize('NFC', key)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")  # 7 bytes, for 8 may not fit numpy's int64
