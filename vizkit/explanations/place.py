"""Where a run lies: a folder of this machine, or an address that fsspec opens, such as s3://bucket/maps.

Files are written whole or not at all in both: at an address under another name, then renamed. Only folders have a lock
of the system: two runs at one address write the same bytes, so that nothing but time is lost.
"""

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from vizkit import writing


class RunError(ValueError):
    """A run cannot begin, or be read, in a place; the message is one sentence for the user."""


@dataclass(frozen=True)
class Address:
    """What is asked of a `Path`, of a folder or file in a file system of fsspec."""

    fs: Any
    path: str

    def __str__(self) -> str:
        return self.fs.unstrip_protocol(self.path)

    def __truediv__(self, name: str) -> "Address":
        return replace(self, path=f"{self.path}/{name}")

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix

    def open(self, mode: str) -> Any:
        return self.fs.open(self.path, mode)

    def exists(self) -> bool:
        return self.fs.exists(self.path)

    def unlink(self) -> None:
        self.fs.rm_file(self.path)

    def iterdir(self) -> "list[Address]":
        """Nothing of one where nothing lies: many stores have no folders."""
        with suppress(FileNotFoundError):
            return [replace(self, path=each) for each in self.fs.ls(self.path, detail=False) if each != self.path]
        return []


Place = Path | Address


def in_a_line(error: Exception) -> str:
    """What a strange library says, without its full stop."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def place_of(text: str) -> Place:
    """The folder or file that somebody names. Raises RunError for an address that cannot be used."""
    if "://" not in text:
        return Path(text)
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    try:
        fs, path = url_to_fs(text, use_listings_cache=False)
        with suppress(FileNotFoundError):
            fs.info(path)
    except Exception as error:  # whatever the library of a store raises: there are many
        raise RunError(f"{text} cannot be opened: {in_a_line(error)}.") from None
    return Path(path) if isinstance(fs, LocalFileSystem) else Address(fs, path.rstrip("/"))


def read_text(place: Place) -> str:
    return writing.read_text(place) if isinstance(place, Path) else place.fs.cat_file(place.path).decode()


def write(place: Place, content: bytes | str | Callable[[Path], object]) -> None:
    """As `vizkit.writing.write`."""
    if isinstance(place, Path):
        return writing.write(place, content)
    part = f"{place.path.rpartition('/')[0]}/.{uuid.uuid4().hex}.part"
    with TemporaryDirectory() as folder:
        file = Path(folder) / place.name
        writing.write(file, content)
        try:
            place.fs.put_file(str(file), part)
            place.fs.mv(part, place.path)
        except BaseException:
            with suppress(Exception):
                place.fs.rm_file(part)
            raise
