"""Handwritten digits, as a built-in set."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from vizkit.datasets import digits as written
from vizkit.datasets.image_set import DatasetError, ImageSet, Source, digest_of
from vizkit.datasets.planted import planted
from vizkit.image import RGB

FAULTY = "faulty"
ABOUT = {
    "digits": "1,797 real handwritten digits, 32×32 pixels, shipped by scikit-learn",
    f"digits:{FAULTY}": "the same with faults that are known: of those to train on a tenth has a wrong label, 20 are "
    "copies, half of the eights have a mark in the corner; of those to test some threes have the mark",
}
PLANTED = {  # by split
    "train": {"labels": 0.1, "copies": 20, "marked": (8, 0.5)},
    "test": {"labels": 0.0, "copies": 0, "marked": (3, 0.2)},
}


@dataclass(frozen=True)
class Written(Source):
    """The digits of one split, enlarged as the bundled models see them."""

    split: str

    def picture(self, index: int) -> RGB:
        return written.picture(_members(self.split)[index])

    def place(self, index: int) -> str:
        return f"digit {_members(self.split)[index]}"


def open_split(detail: str, split: str, *, images: int | None, size_px: int, seed: int) -> ImageSet:
    """The first `images` digits of a split, in the order of `vizkit.datasets.digits.members`; 32×32 pixels."""
    if detail not in ("", FAULTY):
        raise DatasetError(f"There are no digits:{detail}; choose {' or '.join(ABOUT)}.")
    levels, labels = written.load(split)
    digest = digest_of("digits", levels.tobytes(), labels.tobytes())
    name = "digits" if not detail else f"digits:{detail}"
    whole = ImageSet(name, split, written.LABELS, labels, Written(split), digest)
    if detail and split in PLANTED:
        whole = planted(whole, **PLANTED[split])
    return whole.take(np.arange(images)) if images is not None and images < len(whole) else whole


@cache
def _members(split: str) -> tuple[int, ...]:
    return tuple(written.members(split).tolist())
