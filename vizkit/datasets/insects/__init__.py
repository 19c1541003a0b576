"""Drawn aquatic insects: an endless labelled set whose parts are known to the pixel.

Twelve classes differ in shape and parts alone; hue, brightness, ground and debris are drawn without regard to the
class. So a classifier must look at the parts that `DECIDING` names, and its explanations can be scored against them.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, UInt8

from vizkit.datasets.insects.difficulty import DIFFICULTIES, Difficulty
from vizkit.datasets.insects.scene import Streams, paint
from vizkit.datasets.insects.species import DECIDING, LABELS, SPECIES
from vizkit.datasets.insects.specimen import PARTS, Specimen

__all__ = ["DECIDING", "DIFFICULTIES", "LABELS", "PARTS", "SPLITS", "Difficulty", "Sample", "draw", "label_of"]

EDITION = 1
"""Of the pictures: 2 when the same arguments draw others (tests/evaluation/test_recorded.py sees it), which no cache
and no record should confuse with these."""
SPLITS = ("train", "val", "test")
SIZES_PX = (16, 512)
_LABEL_STREAM = 9  # apart from the streams of a sample, which are 0, 1 and 2


@dataclass(frozen=True)
class Sample:
    """One drawn insect."""

    picture: UInt8[np.ndarray, "height width 3"]  # RGB
    label: int  # place in LABELS
    parts: UInt8[np.ndarray, "height width"]  # topmost visible part: 0 none, else 1 + its place in PARTS

    def mask(self, part: str) -> Bool[np.ndarray, "height width"]:
        """Where `part`, one of PARTS, is seen."""
        if part not in PARTS:
            raise ValueError(f"expected a part of {', '.join(PARTS)}, found {part!r}")
        return self.parts == 1 + PARTS.index(part)

    @property
    def insect(self) -> Bool[np.ndarray, "height width"]:
        """Where anything of the insect is seen."""
        return self.parts > 0


def draw(index: int, *, split: str = "train", seed: int = 0, size_px: int = 224, difficulty: str = "normal") -> Sample:
    """Sample `index` (0, 1, …) of a split, square, `size_px` (16..512) pixels wide.

    It depends on nothing but the arguments. Another `size_px` shows the same scene in other pixels.
    """
    if difficulty not in DIFFICULTIES:
        raise ValueError(f"expected a difficulty of {', '.join(DIFFICULTIES)}, found {difficulty!r}")
    if not SIZES_PX[0] <= size_px <= SIZES_PX[1]:
        raise ValueError(f"expected a size of {SIZES_PX[0]} to {SIZES_PX[1]} pixels, found {size_px}")
    label = label_of(index, split, seed)
    streams = Streams(*(np.random.default_rng([seed, SPLITS.index(split), index, stream]) for stream in range(3)))
    one = Specimen(streams.animal)
    SPECIES[LABELS[label]](one)
    picture, parts = paint(one, DECIDING[LABELS[label]], DIFFICULTIES[difficulty], streams, size_px)
    return Sample(picture, label, parts)


def label_of(index: int, split: str = "train", seed: int = 0) -> int:
    """The label of sample `index` without drawing it. Each run of twelve, from 0, holds every class once."""
    refuse(index, split, seed)
    block, place = divmod(index, len(LABELS))
    order = np.random.default_rng([seed, SPLITS.index(split), block, _LABEL_STREAM]).permutation(len(LABELS))
    return int(order[place])


def refuse(index: int, split: str, seed: int) -> None:
    """ValueError where there is no such sample."""
    if split not in SPLITS:
        raise ValueError(f"expected a split of {', '.join(SPLITS)}, found {split!r}")
    if index < 0 or seed < 0:
        raise ValueError(f"expected an index and a seed of at least 0, found {index} and {seed}")
