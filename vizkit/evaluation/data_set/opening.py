"""A labelled set with all its splits as one: "train+test", or a folder as it lies there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vizkit.datasets.image_set import Fault, ImageSet, Source, digest_of
from vizkit.datasets.opening import open_set
from vizkit.evaluation.pictures import open_pictures, whole_folder
from vizkit.image import RGB


@dataclass(frozen=True, eq=False)
class Joined(Source):
    """Several sets, one after another. `sets`: by the names of their splits."""

    sets: Mapping[str, ImageSet]

    def _found(self, index: int) -> tuple[str, ImageSet, int]:
        for split, images in self.sets.items():
            if index < len(images):
                return split, images, index
            index -= len(images)
        raise IndexError(index)

    def picture(self, index: int) -> RGB:
        _, images, row = self._found(index)
        return images.source.picture(row)

    def place(self, index: int) -> str:
        split, images, row = self._found(index)
        place = images.place(row)
        return place if split in place else f"{split}: {place}"

    def split(self, index: int) -> str:
        return self._found(index)[0]

    def fault(self, index: int) -> Fault:
        _, images, row = self._found(index)
        return images.source.fault(row)

    def file(self, index: int) -> str:
        _, images, row = self._found(index)
        return images.source.file(row)


def joined(sets: Mapping[str, ImageSet]) -> ImageSet:
    """All pictures of several splits of one set. Of one split that split."""
    parts = [*sets.values()]
    if len(parts) == 1:
        return parts[0]
    return ImageSet(
        parts[0].name,
        "+".join(sets),
        parts[0].labels,
        np.concatenate([part.targets for part in parts]),
        Joined(dict(sets)),
        digest_of("joined", *((split, part.digest) for split, part in sets.items())),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def split_of(images: ImageSet, index: int) -> str:
    return images.source.split(index) if isinstance(images.source, Joined) else images.split


def open_labelled(
    data: str | Path, split: str = "", *, images: int | None = None, size_px: int = 224, seed: int = 0
) -> ImageSet:
    """`split`: "train", "test", several as "train+test"; without one every picture of a folder or zip file, with the
    splits that it has itself, and of other sets the test part. `images`: at most so many, of several splits of each.
    Raises DatasetError."""
    how = {"images": images, "size_px": size_px, "seed": seed}
    if split:
        return joined({each: open_set(data, each, **how) for each in dict.fromkeys(split.split("+"))})
    found = whole_folder(data)
    if found is None:
        return open_pictures(data, **how)
    whole, own = found
    if images is not None and images < len(whole):
        rows = np.linspace(0, len(whole) - 1, images).round().astype(int)  # in the order of splits and classes
        whole, own = whole.take(rows), [own[row] for row in rows]
    names = [*dict.fromkeys(own)]
    parts = {name: np.flatnonzero(np.array(own) == name) for name in names}
    return joined({name: replace(whole.take(rows), split=name or whole.split) for name, rows in parts.items()})
