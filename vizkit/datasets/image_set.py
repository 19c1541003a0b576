"""A set of labelled pictures, whatever it is made of, and the one function that opens any of them.

    set = open_set("insects", "train")
    picture, target = set[0]
    set.labels[target]

`open_set` knows drawn insects, handwritten digits, some of torchvision's sets, folders and zip files.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int, UInt8

from vizkit.image import RGB, ImageError

if TYPE_CHECKING:
    from vizkit.datasets.insects import Sample

SPLITS = ("train", "val", "test")
LONGEST = 300  # characters of a sentence: names come from strangers


class DatasetError(ValueError):
    """A set of pictures cannot be used; the message is one sentence for the user."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…")


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
            raise DatasetError(f"{self.name} has no pictures for {self.split}; add some or use another split.")
        self.targets.setflags(write=False)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int | np.integer) -> tuple[UInt8[np.ndarray, "height width 3"], int]:
        """Picture, the caller's own, and class index; a negative index counts from the end.

        Raises DatasetError, which says where it is, on a damaged picture.
        """
        row = range(len(self))[int(index)]
        try:
            picture = self.source.picture(row)
        except ImageError as error:
            raise DatasetError(f"{self.place(row)}: {error}") from None
        return picture if picture.flags.writeable else picture.copy(), int(self.targets[row])

    def __iter__(self) -> Iterator[tuple[UInt8[np.ndarray, "height width 3"], int]]:
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


def digest_of(*parts: object) -> str:
    """SHA-256 of some bytes and of the text of everything else."""
    sha = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogateescape")
        sha.update(len(content).to_bytes(8, "big") + content)
    return sha.hexdigest()


def open_set(name: str | Path, split: str, *, images: int | None = None, size_px: int = 224, seed: int = 0) -> ImageSet:
    """One split ("train", "val" or "test") of a set of pictures.

    `name`: "insects" (also ":easy", ":hard"), "digits", "torchvision:" with cifar10, cifar100, flowers102 or pets, a
    folder, or a zip file; a folder that is called like a built-in set is opened as "./insects". `images`: at most so
    many, of files in proportion to the classes, of digits the first. `size_px`: the side of drawn insects; all others
    have sizes of their own. `seed`: of what is drawn, and of a division into splits where there is none. Raises
    DatasetError.
    """
    if split not in SPLITS:
        raise DatasetError(f"There is no split {split!r}; choose one of {', '.join(SPLITS)}.")
    if images is not None and images < 1:
        raise DatasetError(f"A set needs at least one picture, not {images}; ask for more, or for all.")
    kind, detail = kind_of(name)
    if kind == "insects":
        from vizkit.datasets.builtin import insects

        return insects(split, images, size_px=size_px, seed=seed, difficulty=detail)
    whole = _open_pictures(kind, detail, split, seed)
    if images is None or images == len(whole):
        return whole
    if images > len(whole):
        few = f"There are {len(whole):,} pictures for {split}, not the {images:,} that were asked for."
        return replace(whole, notes=(*whole.notes, few))
    return _some(images, whole, seed) if kind != "digits" else whole.take(np.arange(images))


def splits_of(name: str | Path, *, seed: int = 0) -> tuple[str, ...]:
    """The splits that have pictures: all three, but for a folder or zip file with too few. Raises DatasetError."""
    kind, detail = kind_of(name)
    if kind not in ("folder", "archive"):
        return SPLITS
    from vizkit.datasets.archive import unpacked
    from vizkit.datasets.folder import splits_in

    return splits_in(unpacked(Path(detail)) if kind == "archive" else Path(detail), seed=seed)


def kind_of(name: str | Path) -> tuple[str, str]:
    """What opens a name, and with which detail: ("insects", "easy"), ("torchvision", "pets"), ("folder", "a/b") …"""
    kind, _, detail = str(name).partition(":")
    if not isinstance(name, Path) and kind in ("insects", "digits", "torchvision"):
        return kind, detail
    path = Path(name).expanduser()
    if path.is_dir():
        return "folder", str(path)
    if path.is_file() and path.suffix.lower() == ".zip":
        return "archive", str(path)
    if path.is_file():
        raise DatasetError(f"{path.name} is no set of pictures; give a folder, or a .zip of one.")
    raise DatasetError(
        f"No set and no folder is called {str(name)[:99]!r}; give insects, digits, torchvision:…, a folder or a .zip."
    )


def _open_pictures(kind: str, detail: str, split: str, seed: int) -> ImageSet:
    if kind == "digits":
        from vizkit.datasets.builtin import digits

        return digits(split, detail)
    if kind == "torchvision":
        from vizkit.datasets.from_torchvision import open_torchvision

        return open_torchvision(detail, split, seed=seed)
    if kind == "archive":
        from vizkit.datasets.archive import open_archive

        return open_archive(Path(detail), split, seed=seed)
    from vizkit.datasets.folder import open_folder

    return open_folder(Path(detail), split, seed=seed)


def _some(images: int, whole: ImageSet, seed: int) -> ImageSet:
    """`images` of the pictures, in proportion to the classes; the same ones for the same seed, fewer in more."""
    from vizkit.datasets.shares import fair_choice

    return whole.take(fair_choice(whole.targets, [whole.place(i) for i in range(len(whole))], images, seed))
