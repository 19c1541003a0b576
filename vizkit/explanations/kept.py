"""What a pass gives of the pictures of a set, kept by content: any page, command and process finds what another made.

    kept = Kept.of(loaded, images, 8, lambda: Answers(loaded), "answers")
    kept.fill()  # what is missing, after whoever does the same; stopped, it goes on with the next call
    kept.rows()  # a table, in the order of the pictures

<cache>/passes/<digest of all that the rows depend on>/part-00007.parquet, a part a batch: see `parts`
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow
import torch
from torch import nn

from vizkit.datasets.cache import cache_folder
from vizkit.datasets.image_set import ImageSet, digest_of
from vizkit.device import DEVICE
from vizkit.explanations.job import Pass, PassWork, Speed, StoppedError, Stopping, Tell, device_of, make_missing
from vizkit.explanations.parts import Run, RunError, alone
from vizkit.explanations.source import Source, of_set
from vizkit.models import Loaded
from vizkit.settings import __version__
from vizkit.shortage import memory_short

Own = TypeVar("Own", bound="Kept")
WAIT_S = 0.3  # for what another thread or process makes
KEPT_BYTES = 4 << 30  # of all folders together; those that were longest unused go first


def weights_digest(model: nn.Module) -> str:
    """SHA-256 of every parameter and buffer, and of how the network is built."""
    sha = hashlib.sha256(repr(model).encode())
    for name, value in model.state_dict().items():
        held = value.detach().cpu().contiguous()
        sha.update(f"{name} {held.dtype} {tuple(held.shape)} ".encode())
        sha.update(held.flatten().view(torch.uint8).numpy().tobytes() if held.numel() else b"")
    return sha.hexdigest()


@dataclass(frozen=True, eq=False)
class Kept:
    """`make`: the pass, asked for where rows are missing. `weights`: their digest."""

    folder: Path
    source: Source
    loaded: Loaded
    make: Callable[[], Pass]
    weights: str

    @classmethod
    def of(
        cls: type[Own],
        loaded: Loaded,
        images: ImageSet,
        batch: int,
        make: Callable[[], Pass],
        *what: Any,
        weights: str = "",
    ) -> Own:
        """`what`: all that the rows depend on besides model, pictures and the size of a batch. The kind of device is a
        matter too: sums differ in the last digit. `weights`: their digest, where it is known."""
        weights = weights or weights_digest(loaded.model)
        facts = (weights, loaded.preprocessing, images.digest, batch, device_of(loaded))
        folder = cache_folder() / "passes" / digest_of(__version__, *facts, *what)
        return cls(folder, of_set(images, batch), loaded, make, weights)

    @property
    def run(self) -> Run:
        return Run(self.folder, self.source.counts)

    @property
    def done(self) -> int:
        """Pictures of which there are rows."""
        return self.run.done if self.folder.is_dir() else 0

    def fill(
        self, *, workers: int = 0, tell: Tell = lambda *_: None, stopping: Stopping = lambda: False
    ) -> Speed | None:
        """Makes what is missing; None where nothing was. `tell` may raise to stop. Raises RunError in one sentence,
        StoppedError when `stopping` is true."""
        counts = self.source.counts
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            with alone(self.folder, lambda: wait(lambda: tell(self.done, sum(counts), 0.0), stopping)):
                tell(self.done, sum(counts), 0.0)
                if self.whole:
                    return None
                run = Run.begin(self.folder, {}, counts)  # its name is the digest of all else
                work = PassWork(run, self.source, self.loaded, self.make, max(counts), workers)
                speed = make_missing(work, tell, stopping)
                self.finish(speed)
            forget_oldest(self.folder)
            return speed
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise RunError(f"What is computed cannot be kept in {self.folder.parent}: {why}.") from error
        except (RuntimeError, MemoryError) as error:
            if not (owner := memory_short(error)):
                raise
            elsewhere = "" if self.loaded.device.type == "cpu" else "the CPU, "
            raise RunError(
                f"{self.loaded.name} needs more memory than {owner} has for an image: choose {elsewhere}a smaller "
                "image size or model."
            ) from error

    @property
    def whole(self) -> bool:
        """Whether nothing is left to do."""
        return self.done == sum(self.source.counts)

    def finish(self, speed: Speed) -> None:
        """What is done with the parts when all are made."""

    def rows(self) -> pyarrow.Table | None:
        """Of the pictures that are done; None while there is none."""
        return self.every() if self.done else None

    def every(self) -> pyarrow.Table:
        """Of a run that is whole, or of what it has. Raises RunError where that has vanished."""
        try:
            os.utime(self.folder)
            return self.run.table()
        except (OSError, ValueError, pyarrow.ArrowException):
            raise RunError("Some of what was computed has vanished from the cache; start again.") from None


def wait(tell: Callable[[], object], stopping: Stopping) -> None:
    """A little, for another who is at work. Raises StoppedError."""
    with DEVICE.laid_down():  # which that one may need
        time.sleep(WAIT_S)
    tell()
    if stopping():
        raise StoppedError


def forget_oldest(kept: Path) -> None:
    """Folders that were longest unused make room. Those of a run at work are young."""
    folders = [folder for folder in kept.parent.iterdir() if folder.is_dir()]
    folders.sort(key=lambda folder: -folder.stat().st_mtime)
    sizes = np.cumsum([sum(file.stat().st_size for file in folder.iterdir()) for folder in folders])
    for folder, size in zip(folders, sizes, strict=True):
        if size > KEPT_BYTES and folder != kept:
            shutil.rmtree(folder, ignore_errors=True)
