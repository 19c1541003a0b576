"""Where unpacked archives and downloaded sets are kept: VIZKIT_CACHE, or .cache/vizkit in the user's home."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """The cache as an absolute path; it need not exist yet, and may be deleted at any time."""
    return Path(os.environ.get("VIZKIT_CACHE") or Path.home() / ".cache" / "vizkit").absolute()


def complete_folder(folder: Path, fill: Callable[[Path], object]) -> Path:
    """`folder`, filled by `fill` if it is not there yet; it appears complete or not at all.

    `fill` is given an empty folder beside it, which is renamed at the end. Whatever `fill` raises is passed on and
    leaves nothing behind. Two processes may fill the same folder at once: the first to finish wins.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    started = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.parent))
    try:
        fill(started)
        started.chmod(0o755)  # mkdtemp's folders are closed to others
        try:
            started.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(started, ignore_errors=True)
    return folder
