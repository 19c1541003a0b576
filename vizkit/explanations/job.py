"""Parts of a run: read, computed and written, one after another, here or where `PLACE` says.

Where the memory does not suffice for a batch, it is computed in halves: the rows are the same, up to how sums are
rounded.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import groupby, islice
from timeit import timeit
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow
import torch
from torch import Tensor

from vizkit.datasets.image_set import DatasetError
from vizkit.explanations.parts import Run
from vizkit.explanations.reading import Asked, Pixels, Prepared, Reading, loader, pixels_on
from vizkit.explanations.source import Source
from vizkit.explanations.table import PICTURE, write
from vizkit.models import Loaded
from vizkit.shortage import memory_short

Columns = dict[str, pyarrow.Array]
Tell = Callable[[int, Any, float], None]  # pictures done, of how many, pictures a second
Stopping = Callable[[], bool]


class Seen(NamedTuple):
    """Pictures that could be read: their pixels on the model's device, and what the source says of them."""

    pixels: Pixels
    labels: Sequence[str | None]
    keys: Sequence[str]


@runtime_checkable
class Pass(Protocol):
    """What is computed of pictures."""

    fields: list[pyarrow.Field]

    def of(self, seen: Seen) -> Columns:
        """A value of each field for each picture; of a field that is left out there is none."""
        ...


class StoppedError(Exception):
    """It was stopped; the parts that are whole are kept."""


@dataclass
class Speed:
    """`read_s`: what reading took, in all reading processes together; `forward_per_s`: pictures that the bare model
    takes a second, measured in one batch, 0 where there was none after the first. `first`: pictures of the first batch,
    which was done when the time `began`; `seconds`: from the start on."""

    workers: int = 0
    pictures: int = 0
    read_s: float = 0.0
    forward_per_s: float = 0.0
    first: int = 0
    start: float = field(default_factory=time.perf_counter)
    began: float = 0.0

    def add(self, pictures: int, read_s: float) -> None:
        self.pictures, self.read_s = self.pictures + pictures, self.read_s + read_s
        if self.pictures == pictures:
            self.first, self.began = pictures, time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    @property
    def per_s(self) -> float:
        """Without the first batch, which includes the start; 0 before the second."""
        return (self.pictures - self.first) / max(1e-9, time.perf_counter() - self.began)

    def __str__(self) -> str:
        bare = self.pictures * max(1, self.workers) / max(1e-9, self.read_s)
        forward = f"{self.per_s / self.forward_per_s:.2f} of the bare forward, " if self.forward_per_s else ""
        reading = f": {forward}{self.per_s / bare:.2f} of bare reading" if self.read_s else ""
        return f"{self.per_s:,.1f} images/s{reading}."


@runtime_checkable
class Work(Protocol):
    """What makes the parts of a run. It can be pickled, for processes that make some of them."""

    run: Run

    def place(self, device: str, workers: int) -> None:
        """Compute on this device, with so many processes that read."""

    def parts(self, numbers: Sequence[int], tell: Tell, stopping: Stopping) -> Speed:
        """Make these; `tell` may raise after each. Raises StoppedError where `stopping` is true, which is asked between
        batches, DatasetError where the source has vanished, OSError as when the disk is full; what is whole stays."""
        ...


PLACE: ContextVar[Any] = ContextVar("place", default=None)
"""Where parts are made, such as `cluster.Cluster`; None: in this process."""


def device_of(loaded: Loaded) -> str:
    """The kind of device on which parts are made with a model."""
    place = PLACE.get()
    return place.device if place else loaded.device.type


def make_missing(work: Work, tell: Tell = lambda *_: None, stopping: Stopping = lambda: False) -> Speed:
    """All parts that the run lacks, in this process or elsewhere. Raises as `Work.parts`."""
    place = PLACE.get()
    return place.parts(work, tell, stopping) if place else work.parts(work.run.missing(), tell, stopping)


@dataclass(eq=False)
class PassWork:
    """A pass over a source. `made_by`: the pass, where `make` was called already; `told`: what every file says of
    itself; `timed`: whether the model alone is given one batch too, to compare times with."""

    run: Run
    source: Source
    loaded: Loaded
    make: Callable[[], Pass]
    batch: int
    workers: int = 0
    told: dict[str, Any] = field(default_factory=dict)
    timed: bool = False
    made_by: Pass | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"made_by": None}  # another process makes its own

    def place(self, device: str, workers: int) -> None:
        self.loaded.model.to(device)
        self.loaded.device, self.workers = torch.device(device), workers

    def parts(self, numbers: Iterable[int], tell: Tell = lambda *_: None, stopping: Stopping = lambda: False) -> Speed:
        made_by = self.made_by = self.made_by or self.make()
        told = {"vizkit": json.dumps(self.told, ensure_ascii=False)}
        schema = pyarrow.schema([*PICTURE, *made_by.fields], metadata=told)
        speed, before = Speed(self.workers), self.run.before(numbers)
        computing = _Computing(made_by, self.loaded, getattr(made_by, "forward", None) if self.timed else None)

        def rows(readings: Iterable[Reading]) -> Iterator[pyarrow.RecordBatch]:
            began = speed.pictures
            for reading in readings:
                if speed.pictures > began:
                    tell(before + speed.pictures, self.source.images, speed.per_s)
                if speed.pictures and stopping():  # before a batch, so that a part that is whole is written
                    raise StoppedError
                if reading.gone:
                    raise DatasetError(reading.gone)
                yield pyarrow.record_batch(computing.row_of(reading, speed), schema)
                speed.add(len(reading.pictures), reading.seconds)

        pictures = Prepared(self.source, self.loaded.preprocessing)
        read = loader(pictures, self._batches(numbers), self.workers, self.loaded.device.type == "cuda")
        for part, readings in groupby(read, lambda reading: reading.part):
            self.run.make(part, lambda path: write(path, rows(readings), schema))  # noqa: B023  (called at once)
            tell(before + speed.pictures, self.source.images, speed.per_s)
        return speed

    def _batches(self, numbers: Iterable[int]) -> Iterator[Asked]:
        """As they are asked for."""
        for part in numbers:
            items = iter(self.source.items(part))
            yield part, [*islice(items, self.batch)]  # of an empty part an empty batch
            while some := [*islice(items, self.batch)]:
                yield part, some


class _Computing:
    """A pass on batches of which some pictures may be broken, and which may be too large for the memory."""

    def __init__(self, made_by: Pass, loaded: Loaded, bare: Callable[[Pixels], Tensor] | None) -> None:
        self.made_by, self.loaded, self.bare = made_by, loaded, bare
        self.most = 0  # pictures that the memory was enough for; 0: it never fell short
        self.batches = 0

    def row_of(self, reading: Reading, speed: Speed) -> list[pyarrow.Array]:
        good = reading.pictures["error"].is_null()
        able, readable = reading.pictures.filter(good), np.array(good, bool)
        pixels = pixels_on(self.loaded.device, reading.seen[torch.tensor(readable)], self.loaded.preprocessing)
        seen = Seen(pixels, able["label"].to_pylist(), able["key"].to_pylist())
        self.batches += 1
        bare = self.bare
        if bare and self.batches == 2 and len(pixels):
            speed.forward_per_s = len(pixels) / max(1e-9, timeit(lambda: bare(pixels).cpu(), number=1))
        columns = self._of(seen) if len(pixels) else {}
        taken = pyarrow.array(np.cumsum(readable) - 1, pyarrow.int64(), mask=~readable)
        fields = self.made_by.fields
        own = [columns.get(each.name, pyarrow.nulls(len(able), each.type)).take(taken) for each in fields]
        return [*reading.pictures.columns, *own]

    def _of(self, seen: Seen) -> Columns:
        size, pieces, at = self.most or len(seen.keys), [], 0
        while at < len(seen.keys):
            try:
                some = slice(at, at + size)
                pieces.append(self.made_by.of(Seen(seen.pixels[some], seen.labels[some], seen.keys[some])))
                at += size
            except (RuntimeError, MemoryError) as error:
                if size == 1 or not memory_short(error):
                    raise
                self.most = size = size // 2
            if pieces and self.most and self.loaded.device.type == "cuda":
                torch.cuda.empty_cache()
        return {name: pyarrow.concat_arrays([piece[name] for piece in pieces]) for name in pieces[0]}
