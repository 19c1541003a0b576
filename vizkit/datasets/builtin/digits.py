"""Handwritten digits, as a built-in set."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from vizkit.datasets import digits as written
from vizkit.datasets.image_set import DatasetError, ImageSet, Source, digest_of
from vizkit.image import RGB

ABOUT = {"digits": "1,797 real handwritten digits, 32×32 pixels, shipped by scikit-learn"}


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
    if detail:
        raise DatasetError(f"There is one set of digits only, not 'digits:{detail}'; choose digits.")
    levels, labels = written.load(split)
    digest = digest_of("digits", levels.tobytes(), labels.tobytes())
    whole = ImageSet("digits", split, written.LABELS, labels, Written(split), digest)
    return whole.take(np.arange(images)) if images is not None and images < len(whole) else whole


@cache
def _members(split: str) -> tuple[int, ...]:
    return tuple(written.members(split).tolist())
