"""Which pictures are evaluated: all of a plain folder, and the test part of what has one. No torch here."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from vizkit.datasets.archive import unpacked
from vizkit.datasets.folder import Files
from vizkit.datasets.image_set import ImageSet, digest_of
from vizkit.datasets.layout import Listing, list_folder
from vizkit.datasets.opening import kind_of, open_set
from vizkit.datasets.split_shares import fair_choice

EVERY = "all images"


def open_pictures(
    data: str | Path, split: str = "", *, images: int | None = None, size_px: int = 224, seed: int = 0
) -> ImageSet:
    """The pictures to be judged on, with a note on which they are; raises DatasetError.

    `split`: "train", "val" or "test" as `open_set` gives them, so that a model trained on a division of a folder is
    judged on the part that it has not seen. Without one: of built-in sets, and of folders that have a test (or a val)
    folder, that part; of a plain folder of classes or a zip of one, every picture. `images`: at most so many, the
    classes in proportion. `size_px`, `seed`: of what is drawn; the seed also chooses where `images` are fewer.
    """
    kind, detail = kind_of(data)
    if split or kind not in ("folder", "archive"):
        part = split or "test"
        opened = open_set(data, part, images=images, size_px=size_px, seed=seed)
        why = "as you named" if split else "the default"
        return _noted(opened, f"The {part} part of {opened.name}: {why}.")
    path = Path(detail)
    listing = _listing(kind, path)
    own = [part for part in ("test", "val") if part in listing.splits]
    if own:
        opened = open_set(data, own[0], images=images, seed=seed)
        return _noted(opened, f"Only the images in the {own[0]} folder of {opened.name}; name another part if need be.")
    opened = _whole(listing)
    if images is None or images >= len(opened):
        few = [] if images in (None, len(opened)) else [f"There are {len(opened):,} images, not {images:,}."]
        return _noted(opened, f"All images of {opened.name}: it has no test folder.", *few)
    places = [opened.place(index) for index in range(len(opened))]
    some = opened.take(fair_choice(opened.targets, places, images, seed))
    return _noted(some, f"{images:,} of the {len(opened):,} images of {opened.name}, each class in proportion.")


def whole_folder(data: str | Path) -> tuple[ImageSet, list[str]] | None:
    """Every picture of a folder or zip file, and the split in which the folder has it, "" for none; None of other
    sets."""
    kind, detail = kind_of(data)
    if kind not in ("folder", "archive"):
        return None
    listing = _listing(kind, Path(detail))
    return _whole(listing), [file.split or "" for file in listing.files]


def _listing(kind: str, path: Path) -> Listing:
    if kind != "archive":
        return list_folder(path)
    listing = list_folder(unpacked(path))
    # As in open_archive: the times of unpacking say nothing about the pictures.
    return replace(listing, name=path.stem, files=tuple(replace(file, changed_ns=0) for file in listing.files))


def _whole(listing: Listing) -> ImageSet:
    """Every picture of a folder, whatever folder it lies in."""
    number = {label: index for index, label in enumerate(listing.labels)}
    targets = np.array([number[file.label] for file in listing.files], np.int64)
    facts = [(file.path, file.size, file.changed_ns, file.label) for file in listing.files]
    source = Files(listing.root, tuple(file.path for file in listing.files))
    digest = digest_of("every", listing.labels, facts)
    return ImageSet(listing.name, EVERY, listing.labels, targets, source, digest, listing.notes)


def _noted(images: ImageSet, *sentences: str) -> ImageSet:
    return replace(images, notes=(*sentences, *images.notes))
