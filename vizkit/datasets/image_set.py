"""A set of labelled pictures, whatever it is made of. `opening.open_set` opens any of them.

    picture, target = set[0]
    set.labels[target]

Indexing gives a picture and the number of its class.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Int

from vizkit.image import RGB, ImageError

if TYPE_CHECKING:
    from vizkit.datasets.insects import Sample


SPLITS = ("train", "val", "test")
LONGEST = 300  # characters of a sentence: names come from strangers


class SentenceError(ValueError):
    """The message is one sentence for the user, cut where names make it long."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…")


class DatasetError(SentenceError):
    """A set of pictures cannot be used."""


class Fault(NamedTuple):
    """What is known to be wrong with a picture: the label it should have, where it was given another; whether it is a
    copy of another picture; whether it has a mark that says its label."""

    label: int | None = None
    copy: bool = False
    marked: bool = False


class Source(ABC):
    """Where the pictures of a set come from. Subclasses are small and can be pickled: data loaders copy them."""

    @abstractmethod
    def picture(self, index: int) -> RGB:
        """Picture `index`, from 0, as RGB 0..255. Raises ImageError if it is damaged."""

    def place(self, index: int) -> str:
        """Where picture `index` is found, for the user: a path relative to the set, or its number."""
        return f"picture {index}"

    def insect(self, index: int) -> "Sample | None":
        """Picture `index` with the masks of its parts, where it was drawn; None for all other pictures."""
        return None

    def fault(self, index: int) -> Fault:
        """What was planted in picture `index`."""
        return Fault()

    def file(self, index: int) -> str:
        """The path of the file that picture `index` is, byte by byte; "" of one that is drawn or changed."""
        return ""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """One split of labelled pictures. Indexing gives (RGB 0..255, class index); a DataLoader takes it as it is.

    `targets`: class index of every picture, known without opening one. `notes`: sentences for the user, such as what
    was left out. `digest`: SHA-256, which changes with the pictures, their order and their labels: a cache key.
    """

    name: str
    split: str
    labels: tuple[str, ...]
    targets: Int[np.ndarray, " image"]
    source: Source
    digest: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.targets):
            raise DatasetError(f"{self.name} has no images for {self.split}; add some or use another split.")
        self.targets.setflags(write=False)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int | np.integer) -> tuple[RGB, int]:
        """Picture, the caller's own, and class index; a negative index counts from the end.

        Raises DatasetError, which says where it is, on a damaged picture.
        """
        row = range(len(self))[int(index)]
        try:
            picture = self.source.picture(row)
        except ImageError as error:
            raise DatasetError(f"{self.place(row)}: {error}") from None
        return picture if picture.flags.writeable else picture.copy(), int(self.targets[row])

    def __iter__(self) -> Iterator[tuple[RGB, int]]:
        return (self[index] for index in range(len(self)))

    def place(self, index: int) -> str:
        """Where picture `index` is found: a path relative to the folder, or its number in the whole split."""
        return self.source.place(index)

    def take(self, rows: Int[np.ndarray, " taken"], *notes: str) -> "ImageSet":
        """Only the pictures `rows` (indices from 0), in that order, with further notes."""
        source = Taken(self.source, tuple(rows.tolist()))
        digest = digest_of(self.digest, rows.astype(np.int64).tobytes())
        return replace(self, targets=self.targets[rows], source=source, digest=digest, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class Taken(Source):
    """Some pictures of another source."""

    whole: Source
    rows: tuple[int, ...]

    def picture(self, index: int) -> RGB:
        return self.whole.picture(self.rows[index])

    def place(self, index: int) -> str:
        return self.whole.place(self.rows[index])

    def insect(self, index: int) -> "Sample | None":
        return self.whole.insect(self.rows[index])

    def fault(self, index: int) -> Fault:
        return self.whole.fault(self.rows[index])

    def file(self, index: int) -> str:
        return self.whole.file(self.rows[index])


def digest_of(*parts: object) -> str:
    """SHA-256 of some bytes and of the text of everything else."""
    sha = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogateescape")
        sha.update(len(content).to_bytes(8, "big") + content)
    return sha.hexdigest()
