"""The one function that opens any set of labelled pictures.

    set = open_set("insects", "train")

It knows the sets of `builtin/`, folders and zip files.
"""

import os
from dataclasses import replace
from pathlib import Path

from vizkit.datasets.archive import unpacked
from vizkit.datasets.builtin import ABOUT, BUILT_IN
from vizkit.datasets.folder import open_folder, splits_in
from vizkit.datasets.image_set import SPLITS, DatasetError, ImageSet
from vizkit.datasets.split_shares import fair_choice
from vizkit.writing import NO_FILE, is_regular


def open_set(name: str | Path, split: str, *, images: int | None = None, size_px: int = 224, seed: int = 0) -> ImageSet:
    """One split ("train", "val" or "test") of a set of pictures.

    `name`: of a built-in set, as `vizkit datasets` lists them, a folder, or a zip file; a folder that is called like a
    built-in set is opened as "./insects". `images`: at most so many, of files in proportion to the classes. `size_px`:
    the side of what is drawn; all others have sizes of their own. `seed`: of what is drawn, and of a division into
    splits where there is none. Raises DatasetError.
    """
    if split not in SPLITS:
        raise DatasetError(f"There is no split {split!r}; choose one of {', '.join(SPLITS)}.")
    if images is not None and images < 1:
        raise DatasetError(f"A set needs at least one image, not {images}; ask for more, or for all.")
    kind, detail = kind_of(name)
    if kind in BUILT_IN:
        whole = BUILT_IN[kind].open_split(detail, split, images=images, size_px=size_px, seed=seed)
    else:
        whole = _open_files(kind, detail, split, seed)
    if images is None or images == len(whole):
        return whole
    if images > len(whole):
        few = f"There are {len(whole):,} images for {split}, not the {images:,} that were asked for."
        return replace(whole, notes=(*whole.notes, few))
    return _some(images, whole, seed)


def splits_of(name: str | Path, *, seed: int = 0) -> tuple[str, ...]:
    """The splits that have pictures: all three, but for a folder or zip file with too few. Raises DatasetError."""
    kind, detail = kind_of(name)
    if kind not in ("folder", "archive"):
        return SPLITS

    return splits_in(unpacked(Path(detail)) if kind == "archive" else Path(detail), seed=seed)


def kind_of(name: str | Path) -> tuple[str, str]:
    """What opens a name, and with which detail: ("insects", "easy"), ("torchvision", "pets"), ("folder", "a/b") …"""
    kind, _, detail = str(name).partition(":")
    if not isinstance(name, Path) and kind in BUILT_IN:
        return kind, detail
    path = Path(os.path.expanduser(name))
    if path.is_dir():
        return "folder", str(path)
    if path.is_file() and path.suffix.lower() == ".zip":
        return "archive", str(path)
    if path.is_file():
        raise DatasetError(f"{path.name} is no set of images; give a folder, or a .zip of one.")
    if not is_regular(path):
        raise DatasetError(f"{path.name} is no set of images: {NO_FILE}.")
    known = ", ".join(kind if kind in ABOUT else f"{kind}:…" for kind in BUILT_IN)
    raise DatasetError(f"No set and no folder is called {str(name)[:99]!r}; give {known}, a folder or a .zip.")


def _open_files(kind: str, detail: str, split: str, seed: int) -> ImageSet:
    if kind == "archive":
        from vizkit.datasets.archive import open_archive

        return open_archive(Path(detail), split, seed=seed)

    return open_folder(Path(detail), split, seed=seed)


def _some(images: int, whole: ImageSet, seed: int) -> ImageSet:
    """`images` of the pictures, in proportion to the classes; the same ones for the same seed, fewer in more."""
    return whole.take(fair_choice(whole.targets, [whole.place(i) for i in range(len(whole))], images, seed))
