"""A folder in which one process works and others watch: what it does now in status.json, and a lock.

The lock is the system's: it ends with its process, however that ends. A run and an evaluation are such folders. No
torch here: pages read them before it is loaded.
"""

import json
import os
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout

from vizkit.shortage import disk_full, memory_short
from vizkit.writing import clear, read_text, write

FINAL = ("done", "stopped", "failed")
WORDS = ("state", "message", "name", "host")  # of a status; all else in it are numbers
SAME_START_S = 2.0  # the system's clock may have been set a little
HEARD_S = 600.0  # what works on another machine has said something within this time, even where it validates for long
CHECKPOINTS = "checkpoints"
NOTES = "checkpoint"
"""Of a file's header, what is said of it as JSON: "step", "epoch" (how many were finished) and "weights"."""
EMA, LIVE = "ema", "live"
_STEP = re.compile(r"([1-9]\d{0,11})")
_AT = re.compile(rf"(.+)@{_STEP.pattern}", re.DOTALL)


class WorkError(ValueError):
    """Work in a folder cannot begin, or has ended before it was done; the message is one sentence for the user."""


@dataclass(frozen=True)
class WorkFolder:
    """Reading never fails on what is missing or damaged."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def status(self) -> dict[str, Any]:
        """What the work last wrote of itself; {} where it has written nothing, or the file is damaged."""
        status = self.read("status.json")
        sound = isinstance(status, dict) and all(
            isinstance(value, str if name in WORDS else int | float) for name, value in status.items()
        )
        return status if sound else {}

    @property
    def at_work(self) -> bool:
        """Whether the process that wrote the status lives and has not said its last word."""
        status = self.status
        return status.get("state", FINAL[0]) not in FINAL and alive(status)

    def read(self, file: str) -> Any:
        """A JSON file of the folder, {} while there is none that can be read."""
        try:
            return json.loads(read_text(self.path / file))
        except (OSError, ValueError, RecursionError):
            return {}

    def write(self, file: str, content: Any) -> None:
        self.write_text(file, json.dumps(content, ensure_ascii=False))

    def write_text(self, file: str, text: str) -> None:
        write(self.path / file, text)

    def say(self, **status: Any) -> None:
        """Replace status.json; only the first of several processes speaks."""
        if not speaks():
            return
        me = psutil.Process()
        process = {"host": platform.node(), "pid": me.pid, "begun": me.create_time()}
        text = json.dumps({**status, **process, "updated": time.time()})
        try:
            self.write_text("status.json", text)
        except OSError as error:
            if status.get("state") not in FINAL or not disk_full(error):
                raise
            # The last word goes over the one before: a full disk has no room for another file, however small.
            with (self.path / "status.json").open("r+", encoding="utf-8") as file:
                file.write(text)
                file.truncate()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone at work here; WorkError where another process is. One of several processes locks for all."""
        if not speaks():
            yield
            return
        lock = FileLock(self.path / "lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            sentence = f"{self.name} is at work in another process already; wait for its end, or stop it."
            raise WorkError(sentence) from None
        try:
            clear(self.path)
            yield
        finally:
            lock.release()

    @contextmanager
    def reporting(self, goes_on: str, smaller: str) -> Iterator[None]:
        """What goes wrong within is said in the status and raised as one sentence.

        `goes_on`: what a next start does; `smaller`: what to change where the memory does not suffice.
        """
        try:
            yield
        except Exception as error:
            state, sentence = "failed", str(error)
            if disk_full(error):
                state, sentence = "stopped", f"Stopped: disk full. Make room, then start it again; {goes_on}."
            elif owner := memory_short(error):
                sentence = f"The memory of {owner} does not suffice: {smaller}."
            elif isinstance(error, OSError):
                sentence = f"{error.strerror or type(error).__name__}: {error.filename or self.path}."
            elif not isinstance(error, ValueError):
                raise
            with suppress(OSError):
                self.say(state=state, message=sentence)
            if isinstance(error, ValueError) and sentence == str(error):
                raise
            raise WorkError(sentence) from error


def speaks() -> bool:
    """Whether this process is the only one, or the first of those that a launcher has started."""
    return int(os.environ.get("RANK", "0")) == 0


def alive(status: Mapping[str, Any]) -> bool:
    """Whether the process that wrote a status still runs: numbers are given again, so its start has to be the same.

    Of a process of another machine that shares the folder only its last word is known.
    """
    if status.get("host", platform.node()) != platform.node():
        return time.time() - status.get("updated", 0.0) < HEARD_S
    try:
        process = psutil.Process(status["pid"])
        same = abs(process.create_time() - status["begun"]) < SAME_START_S
        return same and process.status() != psutil.STATUS_ZOMBIE
    except (KeyError, TypeError, ValueError, OverflowError, psutil.Error):
        return False


# ---- the checkpoints of a run ----------------------------------------------------------------------------------------
# "runs/mine@512" is the model of a run after its step 512.
def parted(source: str) -> tuple[str, int | None]:
    """The run of a source, and the step, None where it names none."""
    found = _AT.fullmatch(source)
    return (found[1], int(found[2])) if found else (source, None)


def file_of(folder: Path, step: int) -> Path:
    """Of the run in `folder`, the weights after `step` steps."""
    return folder / CHECKPOINTS / f"{step}.safetensors"


def steps_in(folder: Path) -> list[int]:
    """Those whose weights the run in `folder` has, in order."""
    files = (folder / CHECKPOINTS).glob("*.safetensors")
    return sorted(int(file.stem) for file in files if _STEP.fullmatch(file.stem))


def at_or_before(step: int, steps: Sequence[int]) -> int:
    """Of steps in order the last that is no later than this one; where all are later, the first."""
    return max((each for each in steps if each <= step), default=steps[0])


def missing(name: str, step: int, steps: Sequence[int]) -> str:
    """Why there is no such step, in a sentence with the nearest ones. `steps`: those that there are, in order."""
    if not steps:
        return f"{name[:60]} has no checkpoint of step {step:,}: it kept none."
    after = [each for each in steps if each > step][:1]
    nearest = dict.fromkeys((at_or_before(step, steps), *after))
    there = " and ".join(f"{each:,}" for each in nearest)
    return (
        f"{name[:60]} has no checkpoint of step {step:,}: the nearest {'is' if len(nearest) == 1 else 'are'} {there}."
    )


def said(step: int, notes: str) -> str:
    """Of a checkpoint, in words. `notes`: those of its header, which a stranger may have written."""
    try:
        weights = json.loads(notes)["weights"]
    except (ValueError, KeyError, TypeError, RecursionError):
        weights = None
    whose = {EMA: "moving average (EMA)", LIVE: "live weights"}.get(str(weights), "weights")
    return f"step {step:,}, {whose} in half precision"
