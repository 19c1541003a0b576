"""A whole set in memory, as the model sees it: read or drawn once, on all cores, and kept on disk for the next run."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor
from torch.utils.data import Dataset

from vizkit.datasets.cache import cache_folder
from vizkit.training.pictures.batches import Fitted, Key, in_order, loader
from vizkit.writing import clear, write

MEMORY_BYTES = 2 << 30  # larger sets are read again in every epoch
KEPT_BYTES = 4 << 30  # on disk, of all sets together
A_DAY_S = 86_400.0  # longer than anybody writes a file
WORTH_KEEPING = 1000  # pictures; fewer are read again faster than another process starts


class InMemory(Dataset):
    """A set whose fitted pictures are all in memory."""

    def __init__(self, pictures: UInt8[Tensor, "image height width 3"], labels: Int[Tensor, " image"]) -> None:
        self.pictures, self.labels = pictures, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, key: Key) -> tuple[UInt8[Tensor, "height width 3"], int]:
        return self.pictures[key[0]], int(self.labels[key[0]])

    def __getitems__(self, keys: list[Key]) -> tuple[UInt8[Tensor, "image height width 3"], Int[Tensor, " image"]]:
        rows = [index for index, _ in keys]
        return self.pictures[rows], self.labels[rows]


def in_memory(data: Fitted, tell: Callable[[int], None]) -> InMemory:
    """The set in memory; `tell` gets how many pictures are done."""
    labels = torch.from_numpy(data.images.targets.astype(np.int64))
    file = _kept_file(data)
    if file.is_file():
        os.utime(file)  # the least used goes first
        return InMemory(torch.from_numpy(np.load(file)), labels)
    pictures = read(data, tell)
    if len(data) >= WORTH_KEEPING:
        _keep(pictures.numpy(), file)
    return InMemory(pictures, labels)


def read(data: Fitted, tell: Callable[[int], None]) -> UInt8[Tensor, "image height width 3"]:
    keys = in_order(len(data), 64)
    height, width = data.needs.size_hw
    pictures, done = torch.empty(len(data), height, width, 3, dtype=torch.uint8), 0
    for some, _ in loader(data, keys, (os.cpu_count() or 1) if len(data) >= WORTH_KEEPING else 0):
        pictures[done : done + len(some)] = some
        done += len(some)
        tell(done)
    return pictures


def _kept_file(data: Fitted) -> Path:
    """Named after the set and what its first picture looks like: a change of the drawing makes another file."""
    first = data[0, 0][0].numpy()
    digest = hashlib.sha256(first.tobytes() + repr((data.images.digest, data.needs, first.shape)).encode()).hexdigest()
    return cache_folder() / "fitted" / f"{digest}.npy"


def _keep(pictures: UInt8[np.ndarray, "image height width 3"], file: Path) -> None:
    """Write the file whole or not at all, and let the least used ones go. A full disk is no reason to stop."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        clear(file.parent, A_DAY_S)
        write(file, lambda path: np.save(path, pictures))
        kept = sorted(file.parent.glob("[!.]*.npy"), key=lambda picture: picture.stat().st_mtime, reverse=True)
        sizes = np.cumsum([picture.stat().st_size for picture in kept])
        for old in [
            picture for picture, size in zip(kept, sizes, strict=True) if size > KEPT_BYTES and picture != file
        ]:
            old.unlink(missing_ok=True)
    except OSError:
        return
