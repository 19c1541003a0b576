"""The sets that need no file and no network: insects, drawn when they are read, and handwritten digits."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from vizkit.datasets import digits as written
from vizkit.datasets.image_set import DatasetError, ImageSet, Source, digest_of
from vizkit.image import RGB

if TYPE_CHECKING:
    from vizkit.datasets.insects import Sample

__all__ = ["ABOUT", "INSECTS", "Written", "digits", "insects"]

INSECTS = {"train": 12_000, "val": 1_200, "test": 2_000}  # how many are drawn unless another number is chosen

ABOUT = {  # name → one line for the user
    "insects": "drawn water insects of 12 kinds with known parts, as many as you ask for, at any size",
    "insects:easy": "the same, large and nearly upright, with little around them",
    "insects:hard": "the same, turned, small, half covered, on ground of their own brightness",
    "digits": "1,797 real handwritten digits, 32×32 pixels, shipped by scikit-learn",
    "torchvision:cifar10": "60,000 photographs of 10 kinds of things, 32×32 pixels, downloaded at first use",
    "torchvision:cifar100": "60,000 photographs of 100 kinds of things, 32×32 pixels, downloaded at first use",
    "torchvision:flowers102": "8,189 photographs of 102 kinds of flowers, downloaded at first use",
    "torchvision:pets": "7,349 photographs of 37 breeds of cats and dogs, downloaded at first use",
}


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
        from vizkit.datasets.insects import draw

        return draw(index, split=self.split, seed=self.seed, size_px=self.size_px, difficulty=self.difficulty)

    def place(self, index: int) -> str:
        return f"insect {index} of {self.split}"


@dataclass(frozen=True)
class Written(Source):
    """The digits of one split, enlarged as the bundled models see them."""

    split: str

    def picture(self, index: int) -> RGB:
        return written.picture(_members(self.split)[index])

    def place(self, index: int) -> str:
        return f"digit {_members(self.split)[index]}"


def insects(split: str, images: int | None, *, size_px: int, seed: int, difficulty: str) -> ImageSet:
    """The first `images` insects of a split; INSECTS says how many without a number, an empty difficulty is "normal".

    Another seed, split or difficulty draws other scenes; another `size_px` the same scenes in other pixels.
    """
    from vizkit.datasets.insects import DIFFICULTIES, LABELS, SIZES_PX

    difficulty = difficulty or "normal"
    if difficulty not in DIFFICULTIES:
        raise DatasetError(f"Insects are not drawn {difficulty!r}; choose one of {', '.join(DIFFICULTIES)}.")
    if not SIZES_PX[0] <= size_px <= SIZES_PX[1]:
        raise DatasetError(f"Insects are drawn {SIZES_PX[0]} to {SIZES_PX[1]} pixels wide, not {size_px}.")
    if seed < 0:
        raise DatasetError(f"A seed is a whole number from 0, not {seed}; choose another.")
    targets = _drawn_labels(split, images or INSECTS[split], seed)
    name = "insects" if difficulty == "normal" else f"insects:{difficulty}"
    digest = digest_of(name, split, len(targets), size_px, seed, _drawing_code())
    return ImageSet(name, split, LABELS, targets, Drawn(split, seed, size_px, difficulty), digest)


def digits(split: str, detail: str = "") -> ImageSet:
    """All digits of a split, in the order of `vizkit.datasets.digits.members`; 32×32 pixels."""
    if detail:
        raise DatasetError(f"There is one set of digits only, not 'digits:{detail}'; choose digits.")
    levels, labels = written.load(split)
    digest = digest_of("digits", levels.tobytes(), labels.tobytes())
    return ImageSet("digits", split, written.LABELS, labels, Written(split), digest)


@cache
def _drawn_labels(split: str, images: int, seed: int) -> Int[np.ndarray, " image"]:
    from vizkit.datasets.insects import label_of

    return np.array([label_of(index, split, seed) for index in range(images)], np.int64)


@cache
def _drawing_code() -> str:
    """A digest of the code that draws: other code draws other insects, which no cache should confuse."""
    files = sorted((Path(__file__).parent / "insects").glob("*.py"))
    return digest_of(*(content for file in files for content in (file.name, file.read_bytes())))


@cache
def _members(split: str) -> tuple[int, ...]:
    return tuple(written.members(split).tolist())
