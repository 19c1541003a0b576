"""All lessons by name: those that come with vizkit, and those of the folder that the owner of a server names."""

import re
from functools import lru_cache
from pathlib import Path

from vizkit.lessons.expressions import LessonError
from vizkit.lessons.lesson import MOST_BYTES, Lesson, read
from vizkit.settings import settings
from vizkit.writing import read_bytes

COURSE = Path(__file__).parent / "course"
MOST_LESSONS = 100
_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,60}")


def files() -> dict[str, Path]:
    """By their names in an address, those that come with vizkit first; never a link that leads elsewhere."""
    found: dict[str, Path] = {}
    for folder in filter(None, (COURSE, settings().lessons)):
        for path in sorted(folder.glob("*.md"), key=_in_order)[:MOST_LESSONS]:
            if _NAME.fullmatch(path.stem) and path.is_file() and not path.is_symlink():
                found.setdefault(path.stem, path)
    return found


def _in_order(path: Path) -> tuple[int, str]:
    """By the number with which its name begins; those without one last."""
    number = re.match(r"[0-9]{1,9}(?=_)", path.stem)
    return int(number[0]) if number else 10**9, path.stem


def opened(name: str) -> Lesson:
    """Raises LessonError for one that is not there, or that cannot be read."""
    path = files().get(name)
    if path is None:
        raise LessonError("There is no such lesson here.")
    state = path.stat()
    return _read(path, state.st_mtime_ns, state.st_size)


def read_file(path: Path) -> Lesson:
    """LessonError, OSError; of a file that is too large no more than that is read."""
    return read(read_bytes(path, MOST_BYTES + 1), path.stem)


@lru_cache(MOST_LESSONS)
def _read(path: Path, changed_ns: int, size: int) -> Lesson:
    return read_file(path)
