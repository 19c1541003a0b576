"""Runs that were thrown away: kept for 30 days in `.bin` beside the other runs, then gone.

    runs/.bin/first.1790000000/     the folder of the run `first`; its log beside the runs goes with it

To have one back, move its folder out of the bin and take the number off its name.
"""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from vizkit.training.runs.folder import RunFolder

BIN = ".bin"
KEPT_S = 30 * 24 * 3600.0


def throw_away(run: RunFolder) -> None:
    """Move a run into the bin beside it. Raises OSError."""
    now = time.time()
    place = run.path.with_name(BIN) / f"{run.name}.{time.time_ns()}"
    place.parent.mkdir(exist_ok=True)
    run.path.rename(place)
    os.utime(place, (now, now))  # from now on it is kept
    with suppress(OSError):
        run.path.with_name(f".{run.name}.log").rename(place / "log")


def empty_bin(root: Path, now: float | None = None) -> list[str]:
    """Delete what lies in the bin of `root`, a folder of runs, longer than 30 days; its names. Never fails."""
    gone = []
    with suppress(OSError):
        for place in (root / BIN).iterdir():
            with suppress(OSError):
                if (now or time.time()) - place.stat().st_mtime > KEPT_S:
                    shutil.rmtree(place)
                    gone.append(place.name)
    return gone
