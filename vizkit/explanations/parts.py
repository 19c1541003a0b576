"""A run's folder: how it is made, and its parts, each whole or not there. One lock says that a folder is at work.

_manifest.json         the settings
_lock                  the system's lock of the process that is at work: it ends with its process; `place` has none
part-00000.parquet …   written under another name and renamed
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
from filelock import FileLock, Timeout
from pyarrow import parquet

from vizkit.explanations.place import Address, Place, RunError, write
from vizkit.explanations.table import MANIFEST, begun
from vizkit.writing import clear


@contextmanager
def alone(folder: Place, wait: Callable[[], object] | None = None) -> Iterator[None]:
    """At work in a folder, which is made where there is none. `wait`: what is done again and again while another is at
    work there; without it that is a RunError."""
    if isinstance(folder, Address):
        yield
        return
    folder.mkdir(exist_ok=True)
    lock = FileLock(folder / "_lock", timeout=0)
    while not lock.is_locked:
        try:
            lock.acquire()
        except Timeout:
            if wait is None:
                raise RunError(f"{folder} is at work in another process; wait for its end, or stop it.") from None
            wait()
    try:
        clear(folder)  # what killed processes left
        yield
    finally:
        lock.release()


@dataclass(frozen=True)
class Run:
    """`counts`: pictures of each part, 0 where nobody knows yet."""

    folder: Place
    counts: tuple[int, ...]

    @classmethod
    def begin(cls, folder: Place, settings: dict[str, Any], counts: tuple[int, ...]) -> "Run":
        """New, or one with the very same settings that goes on; a damaged part is made again. For who is `alone` in the
        folder. Raises RunError."""
        run, now = cls(folder, counts), json.loads(json.dumps(settings | {"pictures_of_parts": counts}))
        before = begun(folder)
        if before is None:
            if any(each.name[:1] not in "._" for each in folder.iterdir()):
                raise RunError(f"{folder} holds other things; give a new folder.")
            write(folder / MANIFEST, json.dumps(now, indent=1, ensure_ascii=False))
        elif other := next((name for name in now if before.get(name) != now[name]), ""):
            raise RunError(f"{folder} was begun with other settings ({other.replace('_', ' ')}); give another folder.")
        for number in run.made():
            if not run._whole(number):
                run.path(number).unlink()
        return run

    def path(self, number: int) -> Place:
        return self.folder / f"part-{number:05}.parquet"

    def make(self, number: int, fill: Callable[[Path], object]) -> None:
        write(self.path(number), fill)

    def made(self) -> list[int]:
        names = {path.name for path in self.folder.iterdir()}
        return [number for number in range(len(self.counts)) if self.path(number).name in names]

    def table(self) -> pyarrow.Table:
        """Of all parts that are made. Raises OSError or ValueError where one has vanished."""
        return pyarrow.concat_tables(map(self.read, self.made()))

    def read(self, number: int, columns: list[str] | None = None) -> pyarrow.Table:
        with self.path(number).open("rb") as file:
            return parquet.read_table(file, columns=columns)

    @property
    def done(self) -> int:
        """Pictures of the parts that are made."""
        return sum(self.counts[number] for number in self.made())

    def before(self, numbers: Iterable[int]) -> int:
        """Pictures of all parts but these."""
        return sum(self.counts) - sum(self.counts[number] for number in numbers)

    def missing(self) -> list[int]:
        return sorted({*range(len(self.counts))} - {*self.made()})

    def _whole(self, number: int) -> bool:
        try:
            with self.path(number).open("rb") as file:
                rows = parquet.read_metadata(file).num_rows
        except (pyarrow.ArrowException, OSError):
            return False
        return self.counts[number] in (0, rows)
