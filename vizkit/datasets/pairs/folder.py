"""Pairs from a user's folder, at any depth: pictures that are their own reference, or that have one beside them.

pond.jpg                   its reference is the picture itself, turned, shifted, scaled and lit otherwise
leaf.png, leaf_ref.png     its reference is the second picture, of the same size

What is learned from are squares of 192 × 192 pixels, halved; a reference is cut at the same place. Half of the
references are so; the others are another square, the reference's pixels in any order, or noise, so that the network
learns to refuse (see `drawn`).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from vizkit.datasets.folder import RATIO
from vizkit.datasets.image_set import SPLITS, DatasetError, digest_of
from vizkit.datasets.layout import File, Folder, shown
from vizkit.datasets.pairs.drawn import RGB, SIDE, ScenePairs, halved, posing
from vizkit.datasets.split_shares import divide
from vizkit.image import ImageError, read_image

LEVELS, SHARES = ("same", "other", "shuffled", "noise"), (0.5, 0.28, 0.11, 0.11)
SQUARE = 2 * SIDE
MOST_SQUARES = 24
"""Of one picture, that few pictures are not learned by heart."""
_STREAM = 40  # apart from those of drawn pairs

Squares = UInt8[np.ndarray, "_picture _row _column 3"]
"""One place of a picture, and of its own reference where it has one."""


@dataclass(frozen=True)
class FolderPairs(ScenePairs):
    """`count` squares of one split. `files`: paths of a picture and of its reference, "" where it has none."""

    split: str
    files: tuple[tuple[str, str], ...]
    count: int
    seed: int
    digest: str
    levels, shares, stream = LEVELS, SHARES, _STREAM + 1

    def scene(self, index: int) -> Squares:
        """Raises DatasetError for a picture that is too small, unreadable, or of another size than its reference."""
        path, second = self.files[self.file_of(index)]
        pictures = [_opened(each) for each in (path, second) if each]
        rows, columns = pictures[0].shape[:2]
        name = shown(os.path.basename(path))
        if pictures[-1].shape != pictures[0].shape:
            raise DatasetError(f"{name} and its reference have different sizes: cut them to the same.")
        if min(rows, columns) < SQUARE:
            raise DatasetError(
                f"{name} has {columns} × {rows} pixels: give {SQUARE} × {SQUARE} at least, or take it out."
            )
        draw = np.random.default_rng([self.seed, SPLITS.index(self.split), index, _STREAM])
        top, left = int(draw.integers(rows - SQUARE + 1)), int(draw.integers(columns - SQUARE + 1))
        return np.stack([each[top : top + SQUARE, left : left + SQUARE] for each in pictures])

    def same(self, own: Squares, draw: np.random.Generator) -> RGB:
        return halved(own[1]) if len(own) > 1 else posing(own[0], draw)

    def unlike(self, level: str, index: int, draw: np.random.Generator, scene: Callable[[int], Squares]) -> RGB:
        if level == "other":
            return posing(scene(self.another(index, draw))[0], draw)
        raise DatasetError(f"There is no likeness {level!r} in a folder; there are {', '.join(LEVELS)}.")

    def file_of(self, index: int) -> int:
        """Squares of one picture follow one another."""
        return index * len(self.files) // self.count

    def another(self, index: int, draw: np.random.Generator) -> int:
        """A square of another picture; of the same one where there is no other."""
        while True:
            other = int(draw.integers(self.count))
            if other != index and (len(self.files) == 1 or self.file_of(other) != self.file_of(index)):
                return other


def open_folder_pairs(path: Path, split: str, most: int, seed: int = 0) -> FolderPairs:
    """`most` squares of a split at the most; pictures are divided by `seed`, 70 % train, 15 % val, 15 % test.

    No picture is opened yet. Raises DatasetError with one sentence for a folder that does not fit.
    """
    folder = Folder(os.path.realpath(path))
    pairs = _paired(list(folder.below("")))
    if len(pairs) < len(SPLITS):
        raise DatasetError(f"{shown(path.name)!r} has {len(pairs)} images to learn from: give three at least.")
    around = os.path.commonpath([os.path.dirname(picture.path) for picture, _ in pairs])  # in a zip: its one folder
    keys = [shown(os.path.relpath(picture.path, around or os.curdir)) for picture, _ in pairs]
    rows = divide(np.zeros(len(pairs), np.int64), keys, seed, dict(zip(SPLITS, RATIO, strict=True)))[split]
    if len(rows) > most:  # spread over all of them
        rows = rows[np.arange(most) * len(rows) // most]
    chosen = [pairs[row] for row in rows]
    count = min(most, MOST_SQUARES * len(chosen))
    if count < 2:
        raise DatasetError("Pairs need another image beside each: ask for two or more.")
    facts = [(file.path, file.size, file.changed_ns) for pair in chosen for file in pair if file]
    files = tuple(tuple(os.path.join(folder.root, file.path) if file else "" for file in pair) for pair in chosen)
    return FolderPairs(split, files, count, seed, digest_of("folder pairs", split, count, seed, facts))  # type: ignore[arg-type]


def _paired(files: list[File]) -> list[tuple[File, File | None]]:
    """Every picture with its reference, if it has one."""
    stems = {os.path.splitext(file.path)[0]: file for file in files}
    references = {stem for stem in stems if stem.endswith("_ref")}
    if alone := sorted(stem for stem in references if stem.removesuffix("_ref") not in stems):
        name = shown(os.path.basename(alone[0]))
        raise DatasetError(f"{name} is a reference of no image: there is no {name.removesuffix('_ref')} beside it.")
    pictures = [file for file in files if os.path.splitext(file.path)[0] not in references]
    return [(file, stems.get(f"{os.path.splitext(file.path)[0]}_ref")) for file in pictures]


@lru_cache(maxsize=4)
def _opened(path: str) -> RGB:
    """Squares of one picture are asked for one after another."""
    try:
        return read_image(path)
    except ImageError as error:
        raise DatasetError(f"{shown(os.path.basename(path))} cannot be used: {error}") from None
