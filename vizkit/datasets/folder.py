"""A folder of labelled pictures as an image set; what it lacks of train, val and test is divided off by a seed."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from vizkit.datasets.image_set import SPLITS, DatasetError, ImageSet, Source, digest_of
from vizkit.datasets.layout import Listing, list_folder, shown
from vizkit.datasets.split_shares import divide
from vizkit.image import RGB, read_image

RATIO = (0.7, 0.15, 0.15)  # train, val, test, where the folder itself has none
Rows = dict[str, Int[np.ndarray, " _"]]


@dataclass(frozen=True)
class Files(Source):
    """Picture files below a folder."""

    root: str
    paths: tuple[str, ...]  # relative to the root

    def picture(self, index: int) -> RGB:
        return read_image(self.file(index))

    def place(self, index: int) -> str:
        return shown(self.paths[index])

    def file(self, index: int) -> str:
        return os.path.join(self.root, self.paths[index])


def open_folder(path: Path, split: str, *, seed: int = 0, name: str = "") -> ImageSet:
    """One split of a folder that `list_folder` understands, without opening a picture.

    Classes stand in natural order of their names. Where the folder has no splits, each class is divided by RATIO
    (train, val, test); the division follows from the seed, the class and the file names alone. With a folder for train
    and test only, val is divided off train; without one for test val stands for it, and its notes say so. Without one
    for train there is none. `name`: what to call the set, if not after its folder. Raises DatasetError.
    """
    listing = list_folder(path)
    targets = _targets(listing)
    members, notes = _members(listing, targets, seed)
    if split not in members:
        there, wanted = listing.splits[-1], {"train": "training"}.get(split, split)
        raise DatasetError(f"There is a folder {there!r} but none for {wanted}; add a folder {split!r}.")
    rows = members[split]
    files = [listing.files[row] for row in rows]
    source = Files(listing.root, tuple(file.path for file in files))
    facts = [(file.path, file.size, file.changed_ns, file.label) for file in files]
    digest = digest_of("folder", listing.labels, facts)
    missing = _missing(listing, targets, members)
    every = (*([] if split == "val" and split in listing.splits else notes), *missing, *listing.notes)
    return ImageSet(name or listing.name, split, listing.labels, targets[rows], source, digest, every)


def splits_in(path: Path, *, seed: int = 0) -> tuple[str, ...]:
    """The splits of a folder that have pictures, in the order train, val, test."""
    listing = list_folder(path)
    members, _ = _members(listing, _targets(listing), seed)
    return tuple(split for split in SPLITS if len(members.get(split, ())))


def _targets(listing: Listing) -> Int[np.ndarray, " image"]:
    places = {label: i for i, label in enumerate(listing.labels)}
    return np.array([places[file.label] for file in listing.files], np.int64)


def _members(listing: Listing, targets: Int[np.ndarray, " image"], seed: int) -> tuple[Rows, list[str]]:
    """The rows of every split, and in words how it came to them."""
    own: Rows = {split: _of(listing, split) for split in listing.splits}
    _refuse_untrained(listing, targets, own)
    shares: dict[str, float] = dict(zip(SPLITS, RATIO, strict=True))
    note = ", ".join(f"{share:.0%} {split}" for split, share in shares.items())
    if len(own) == 3 or (own and "train" not in own and "test" in own):
        return own, []
    if "test" in own:
        part = {split: shares[split] for split in ("train", "val")}
        share = shares["val"] / sum(part.values())
        note = f"There is no val: {share:.0%} of train, chosen by seed {seed}, take its place."
        return {**_divided(listing, targets, own["train"], seed, part), "test": own["test"]}, [note]
    if "val" in own:
        note = "There is no test: val takes its place, so results are too good if val chose the model."
        return {**own, "test": own["val"]}, [note]
    rows = own.get("train", np.arange(len(targets)))
    return _divided(listing, targets, rows, seed, shares), [f"Divided by seed {seed}, each class alike: {note}."]


def _of(listing: Listing, split: str) -> Int[np.ndarray, " member"]:
    return np.flatnonzero([file.split == split for file in listing.files])


def _divided(
    listing: Listing,
    targets: Int[np.ndarray, " image"],
    rows: Int[np.ndarray, " member"],
    seed: int,
    shares: dict[str, float],
) -> Rows:
    keys = [shown(listing.files[row].path) for row in rows]
    return {split: rows[part] for split, part in divide(targets[rows], keys, seed, shares).items()}


def _refuse_untrained(listing: Listing, targets: Int[np.ndarray, " image"], own: Rows) -> None:
    """A class without a picture in train can never be answered right; most often it is spelt in two ways."""
    if "train" not in own:
        return
    unknown = sorted(set(targets.tolist()) - set(targets[own["train"]].tolist()))
    if unknown:
        label = listing.labels[unknown[0]]
        where = next(split for split in own if unknown[0] in targets[own[split]])
        raise DatasetError(f"The class {label!r} is in {where} but not in train; add it there, or check its spelling.")


def _missing(listing: Listing, targets: Int[np.ndarray, " image"], members: Rows) -> list[str]:
    """A sentence for every split in which some class has no picture."""
    sentences = []
    for split, rows in members.items():
        labels = [listing.labels[i] for i in sorted(set(targets.tolist()) - set(targets[rows].tolist()))]
        if labels:
            sentences.append(f"No images in {split}: {', '.join(labels[:8])}{', …' if len(labels) > 8 else ''}.")
    return sentences
