"""Drawn insects, as a built-in set."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from vizkit.datasets.image_set import DatasetError, ImageSet, Source, digest_of
from vizkit.image import RGB

if TYPE_CHECKING:
    from vizkit.datasets.insects import Sample


ABOUT = {
    "insects": "drawn water insects of 12 kinds with known parts, as many as you ask for, at any size",
    "insects:easy": "the same, large and nearly upright, with little around them",
    "insects:hard": "the same, turned, small, half covered, on ground of their own brightness",
}
INSECTS = {"train": 12_000, "val": 1_200, "test": 2_000}  # how many are drawn unless another number is chosen


@dataclass(frozen=True)
class Drawn(Source):
    """Insects of one split; each is drawn anew whenever it is read, always the same."""

    split: str
    seed: int
    size_px: int
    difficulty: str

    def picture(self, index: int) -> RGB:
        return self.insect(index).picture

    def insect(self, index: int) -> "Sample":
        """Not to be changed: the next reader gets the same arrays."""
        return _drawn(self, index)

    def place(self, index: int) -> str:
        return f"insect {index} of {self.split}"


@lru_cache(maxsize=48)  # of a page of pictures: at each click the same ones are drawn, 40 ms each
def _drawn(of: Drawn, index: int) -> "Sample":
    from vizkit.datasets.insects import draw

    return draw(index, split=of.split, seed=of.seed, size_px=of.size_px, difficulty=of.difficulty)


def open_split(detail: str, split: str, *, images: int | None, size_px: int, seed: int) -> ImageSet:
    """The first `images` insects of a split, as many as INSECTS says without a number; `detail` is their difficulty.

    Another seed, split or difficulty draws other scenes; another `size_px` the same scenes in other pixels.
    """
    from vizkit.datasets.insects import DIFFICULTIES, EDITION, LABELS, SIZES_PX

    difficulty = detail or "normal"
    if difficulty not in DIFFICULTIES:
        raise DatasetError(f"Insects are not drawn {difficulty!r}; choose one of {', '.join(DIFFICULTIES)}.")
    if not SIZES_PX[0] <= size_px <= SIZES_PX[1]:
        raise DatasetError(f"Insects are drawn {SIZES_PX[0]} to {SIZES_PX[1]} pixels wide, not {size_px}.")
    if seed < 0:
        raise DatasetError(f"A seed is a whole number from 0, not {seed}; choose another.")
    targets = _drawn_labels(split, images or INSECTS[split], seed)
    name = "insects" if difficulty == "normal" else f"insects:{difficulty}"
    digest = digest_of(name, split, len(targets), size_px, seed, EDITION)
    return ImageSet(name, split, LABELS, targets, Drawn(split, seed, size_px, difficulty), digest)


@cache
def _drawn_labels(split: str, images: int, seed: int) -> Int[np.ndarray, " image"]:
    from vizkit.datasets.insects import label_of

    return np.array([label_of(index, split, seed) for index in range(images)], np.int64)
