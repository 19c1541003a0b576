"""What is in a set of pictures: how many of each class, how large, and which are broken."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from vizkit.datasets.data_check import counts
from vizkit.datasets.image_set import DatasetError, ImageSet

SAMPLE = 32  # pictures opened for their sizes: enough for a median, quick for large photographs


@dataclass(frozen=True, eq=False)
class Summary:
    """`counts`: pictures of each class, in the order of the labels. `sizes_hw`: of a sample, in pixels."""

    images: int
    counts: dict[str, int]
    sizes_hw: Int[np.ndarray, "picture 2"]
    unreadable: int  # of the sample

    @property
    def sizes(self) -> str:
        """The sizes in words: "32×32", or "smallest 200×150, median 640×480, largest 1024×768" (width × height)."""
        if not len(self.sizes_hw):
            return "no image could be opened"
        by_area = self.sizes_hw[np.argsort(self.sizes_hw.prod(1), kind="stable")]
        small, median, large = (f"{w}×{h}" for h, w in by_area[[0, len(by_area) // 2, -1]].tolist())
        return small if len(np.unique(by_area, axis=0)) == 1 else f"smallest {small}, median {median}, largest {large}"


def summary(image_set: ImageSet) -> Summary:
    """Counts of all classes, and the sizes of SAMPLE pictures spread evenly over the set."""
    rows = np.unique(np.linspace(0, len(image_set) - 1, min(SAMPLE, len(image_set))).astype(int))
    sizes, unreadable = [], 0
    for row in rows.tolist():
        try:
            sizes.append(image_set[row][0].shape[:2])
        except DatasetError:
            unreadable += 1
    sizes_hw = np.array(sizes, np.int64).reshape(-1, 2)
    return Summary(len(image_set), counts(image_set), sizes_hw, unreadable)


def check(
    image_set: ImageSet, progress: Callable[[int, int], object] | None = None
) -> tuple[list[tuple[str, str]], ImageSet]:
    """Open every picture: (place, sentence) of each broken one, and the set without them.

    `progress` gets how many of how many are done. Raises DatasetError if none is left.
    """
    broken: list[tuple[str, str]] = []
    whole = []
    for row in range(len(image_set)):
        try:
            image_set[row]
            whole.append(row)
        except DatasetError as error:
            place = image_set.place(row)
            broken.append((place, str(error).removeprefix(f"{place}: ")))
        if progress:
            progress(row + 1, len(image_set))
    if not broken:
        return [], image_set
    if not whole:
        raise DatasetError(f"None of the {len(broken):,} images of {image_set.name} can be opened; {broken[0][1]}")
    note = f"Left out: images that cannot be opened ({len(broken):,}, such as {broken[0][0]})."
    return broken, image_set.take(np.array(whole, np.int64), note)
