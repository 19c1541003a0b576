"""A run's folder: how it is made, and its parts, each whole or not there. Processes share the work by files alone.

    _manifest.json         the settings, the same for every process
    part-00000.parquet …   written under another name and renamed
    _claims/00000.lock     the system's lock of the process that is at work on the part: it ends with the process

No process waits for another, so one may be killed, begin later or work on another machine that shares the folder.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from vizkit.explanations.table import MANIFEST
from vizkit.writing import clear, write


class RunError(ValueError):
    """A run cannot begin in a folder; the message is one sentence for the user."""


@dataclass(eq=False)
class Run:
    """`counts`: pictures of each part, 0 where nobody knows yet. `held`: locks of parts that are ours to make."""

    folder: Path
    counts: tuple[int, ...]
    held: dict[int, FileLock] = field(default_factory=dict)

    @classmethod
    def begin(cls, folder: Path, settings: dict[str, Any], counts: tuple[int, ...]) -> "Run":
        """New, or one with the very same settings that goes on. Raises RunError."""
        folder.mkdir(exist_ok=True)
        run, path = cls(folder, counts), folder / MANIFEST
        (folder / "_claims").mkdir(exist_ok=True)
        with FileLock(folder / "_claims" / "begin.lock"):
            now = json.loads(json.dumps(settings | {"pictures_of_parts": counts}))
            try:
                before = json.loads(path.read_text(encoding="utf-8"))
            except FileNotFoundError:
                if any(each.name[:1] not in "._" for each in folder.iterdir()):
                    raise RunError(f"{folder} holds other things; give a new folder.") from None
                write(path, json.dumps(now, indent=1, ensure_ascii=False))
                before = now
            except ValueError:
                raise RunError(f"{path} is damaged; give another folder.") from None
            other = now if not isinstance(before, dict) else [name for name in now if before.get(name) != now[name]]
            if other := next(iter(other), ""):
                raise RunError(
                    f"{folder} was begun with other settings ({other.replace('_', ' ')}); give another folder."
                )
            for number in run.made():
                if not run._whole(number):
                    run.path(number).unlink()
        return run

    def path(self, number: int) -> Path:
        return self.folder / f"part-{number:05}.parquet"

    def made(self) -> list[int]:
        names = {path.name for path in self.folder.iterdir()}
        return [number for number in range(len(self.counts)) if self.path(number).name in names]

    def missing(self) -> list[int]:
        """None of a run whose manifest has gone: it was whole, and its parts were put to another use."""
        missing = sorted({*range(len(self.counts))} - {*self.made()})
        return missing if (self.folder / MANIFEST).exists() else []

    def _whole(self, number: int) -> bool:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_metadata

        try:
            rows = read_metadata(self.path(number)).num_rows
        except (ArrowException, OSError):
            return False
        return self.counts[number] in (0, rows)

    def claimed(self, numbers: Iterable[int]) -> Iterator[int]:
        """Those that nobody has made or is making, one after another, ours from then on."""
        for number in numbers:
            lock = FileLock(self.folder / "_claims" / f"{number:05}.lock")
            if self.path(number).exists():
                continue
            with suppress(Timeout):
                lock.acquire(timeout=0)
                if self.path(number).exists():
                    lock.release()
                    continue
                self.held[number] = lock
                yield number

    def make(self, number: int, fill: Callable[[Path], object]) -> None:
        write(self.path(number), fill)
        self.held.pop(number).release()

    def release(self) -> None:
        while self.held:
            self.held.popitem()[1].release()

    def clear(self) -> None:
        """When all parts are made: locks, and what killed processes left."""
        shutil.rmtree(self.folder / "_claims", ignore_errors=True)
        clear(self.folder)
