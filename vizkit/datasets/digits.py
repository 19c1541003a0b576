"""Real handwritten digits, 8×8 pixels in 17 levels of grey, as scikit-learn ships them.

Source: E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning Repository,
doi:10.24432/C50P49, CC BY 4.0. scikit-learn has the 1,797 images of its test part. A level counts the inked pixels,
0..16, in a 4×4 block of a scanned 32×32 bitmap: ink is bright, paper is 0.
"""

import gzip
from functools import cache

import numpy as np
from jaxtyping import Int, UInt8

from vizkit.datasets import folder_of

SIDE = 8  # digit pixels
ENLARGEMENT = 4  # picture pixels per digit pixel, so that a 4×4 patch is exactly one digit pixel
TOP_LEVEL = 16
LABELS = tuple("0123456789")
SPLITS = {"train": 0.6, "val": 0.2, "test": 0.2}
_SPLIT_SEED = 1797  # changing it would let bundled models be tested on images they were trained on


def load(split: str = "train") -> tuple[UInt8[np.ndarray, "image 8 8"], Int[np.ndarray, " image"]]:
    """The digits of one split, levels 0..16, and their labels 0..9, in the order of `members(split)`."""
    levels, labels = _everything()
    rows = members(split)
    return levels[rows], labels[rows]


def members(split: str = "train") -> Int[np.ndarray, " image"]:
    """Ascending indices (0..1796, scikit-learn's order) of the images in "train", "val" or "test".

    60, 20 and 20 % of every class, drawn once and fixed for ever. The draw is over images: all thirteen writers occur
    in all splits, so an accuracy on "test" says nothing about the hand of somebody new.
    """
    if split not in SPLITS:
        raise ValueError(f"expected a split of {', '.join(SPLITS)}, found {split!r}")
    return np.flatnonzero(_split_of_each() == split)


def picture(index: int | np.integer) -> UInt8[np.ndarray, "32 32 3"]:
    """Digit `index` (0..1796) as the grey RGB picture, 0..255, that the bundled models were trained on."""
    return enlarge(_everything()[0][index])


def label(index: int | np.integer) -> int:
    """What digit `index` (0..1796) is, 0..9."""
    return int(_everything()[1][index])


def typical(digit: int) -> int:
    """The index of the test image of `digit` (0..9) that lies nearest to the mean of its class: a sample to show."""
    levels, labels = load("test")
    rows = np.flatnonzero(labels == digit)
    shapes = levels[rows].astype(float)
    nearest = ((shapes - shapes.mean(0)) ** 2).sum((1, 2)).argmin()
    return int(members("test")[rows[nearest]])


def enlarge(levels: UInt8[np.ndarray, "*image height width"]) -> UInt8[np.ndarray, "*image 4*height 4*width 3"]:
    """Grey levels 0..16 as RGB 0..255, every digit pixel a flat 4×4 square.

    Flat squares, not a smooth interpolation: what a 4×4 patch shows is then one digit pixel and nothing else.
    """
    grey = np.rint(levels * (255 / TOP_LEVEL)).astype(np.uint8)
    large = grey.repeat(ENLARGEMENT, axis=-2).repeat(ENLARGEMENT, axis=-1)
    return np.stack([large] * 3, axis=-1)


@cache
def _everything() -> tuple[UInt8[np.ndarray, "image 8 8"], Int[np.ndarray, " image"]]:
    # The file that sklearn.datasets.load_digits reads, without its import: that alone takes a second of every start.
    with gzip.open(folder_of("sklearn") / "datasets" / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)  # 64 levels and the label
    levels = table[:, :-1].reshape(-1, SIDE, SIDE).astype(np.uint8)
    labels = table[:, -1].copy()
    for array in (levels, labels):
        array.setflags(write=False)  # shared by every caller
    return levels, labels


@cache
def _split_of_each() -> np.ndarray:
    """The split of each image, by its name."""
    _, labels = _everything()
    # RandomState, not default_rng: numpy promises its stream for ever (NEP 19).
    draw = np.random.RandomState(_SPLIT_SEED)
    splits = np.empty(len(labels), dtype="<U5")
    for digit in range(len(LABELS)):
        rows = draw.permutation(np.flatnonzero(labels == digit))
        ends = np.rint(np.cumsum(list(SPLITS.values())) * len(rows)).astype(int)
        for name, part in zip(SPLITS, np.split(rows, ends[:-1]), strict=True):
            splits[part] = name
    return splits
