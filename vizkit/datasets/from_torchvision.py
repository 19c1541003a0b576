"""CIFAR-10, CIFAR-100, Flowers-102 and Oxford-IIIT Pet, by torchvision: downloaded once, into the cache."""

import errno
import socket
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from vizkit.datasets.cache import cache_folder, complete_folder
from vizkit.datasets.folder import Files
from vizkit.datasets.image_set import DatasetError, ImageSet, Source, digest_of
from vizkit.datasets.split_shares import divide
from vizkit.image import RGB

VAL_SHARE = 0.1  # of train, where the set itself has no val
SILENCE_S = 10.0  # a download ends when nothing has come for so long
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)

_CIFAR = {"train": {"train": True}, "val": {"train": True}, "test": {"train": False}}
# name → torchvision's class, and what it calls our splits; where val is called like train, it is divided off train.
SETS: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "cifar10": ("CIFAR10", _CIFAR),
    "cifar100": ("CIFAR100", _CIFAR),
    "flowers102": ("Flowers102", {split: {"split": split} for split in ("train", "val", "test")}),
    "pets": (
        "OxfordIIITPet",
        {"train": {"split": "trainval"}, "val": {"split": "trainval"}, "test": {"split": "test"}},
    ),
}


@dataclass(frozen=True)
class Cifar(Source):
    """A set that torchvision keeps in memory. What travels to a data loader's worker is its name, not its pictures."""

    name: str
    split: str
    home: str

    def picture(self, index: int) -> RGB:
        return _made(self.name, self.split, self.home).data[index]


def open_torchvision(name: str, split: str, *, seed: int = 0) -> ImageSet:
    """One split of "cifar10", "cifar100", "flowers102" or "pets", downloaded at first use, hundreds of megabytes.

    Flowers-102 has a val of its own; of the others a tenth of train, chosen by the seed and alike in every class, is
    val. Raises DatasetError without a network, after some seconds at most.
    """
    if name not in SETS:
        raise DatasetError(f"There is no set 'torchvision:{name[:99]}'; choose one of {', '.join(SETS)}.")
    home = _home(name)
    made = _made(name, split, str(home))
    targets = np.array(getattr(made, "targets", None) or made._labels, np.int64)
    source = Cifar(name, split, str(home)) if hasattr(made, "data") else _files(made, home)
    calls = SETS[name][1]
    digest = digest_of("torchvision", name, calls[split], targets.tobytes())
    whole = ImageSet(f"torchvision:{name}", split, tuple(made.classes), targets, source, digest)
    if split == "test" or calls["train"] != calls["val"]:
        return whole
    keys = [str(row) for row in range(len(whole))]
    rows = divide(targets, keys, seed, {"train": 1 - VAL_SHARE, "val": VAL_SHARE})[split]
    return whole.take(rows, f"There is no val: {VAL_SHARE:.0%} of train, chosen by seed {seed}, take its place.")


def _home(name: str) -> Path:
    """Where the set is, downloaded if need be. Raises DatasetError."""
    try:
        return complete_folder(cache_folder() / "torchvision" / name, lambda started: _download(name, started))
    except OSError as error:  # of the disk; the network's are sentences already
        raise DatasetError(f"torchvision:{name} cannot be stored ({error.strerror}); make room in the cache.") from None


def _download(name: str, folder: Path) -> None:
    import torchvision.datasets

    class_name, calls = SETS[name]
    try:
        with _impatience():
            getattr(torchvision.datasets, class_name)(str(folder), **calls["train"], download=True)
    except (OSError, RuntimeError, EOFError, HTTPException, tarfile.TarError, zlib.error) as error:
        if getattr(error, "errno", None) in _DISK:
            raise
        raise DatasetError(
            f"torchvision:{name} cannot be downloaded: there is no network, or its server is down; choose another set."
        ) from None


@contextmanager
def _impatience() -> Iterator[None]:
    """torchvision gives its downloads no time limit, so that a silent server would keep us for ever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SILENCE_S)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@lru_cache(maxsize=4)
def _made(name: str, split: str, home: str) -> Any:
    import torchvision.datasets

    class_name, calls = SETS[name]
    try:
        made = getattr(torchvision.datasets, class_name)(home, **calls[split])
    except (OSError, RuntimeError, ValueError) as error:
        raise DatasetError(f"The files of torchvision:{name} are damaged; delete the folder {home}.") from error
    if hasattr(made, "data"):
        made.data.setflags(write=False)  # shared by every caller
    return made


def _files(made: Any, home: Path) -> Files:
    """Picture files, read as those of any folder: neither set gives them under a public name."""
    paths = made._image_files if hasattr(made, "_image_files") else made._images
    return Files(str(home), tuple(Path(path).relative_to(home).as_posix() for path in paths))
