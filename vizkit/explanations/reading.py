"""Pictures to batches: prepared as the app does it, in reading processes; a broken file gives a sentence, no error."""

import hashlib
import os
import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from vizkit.datasets.image_set import DatasetError
from vizkit.explanations.source import Item, Source
from vizkit.image import RGB, ImageError, Preprocessing, open_image, prepare, unprepare

MOST_WORKERS = 8  # beside a GPU
Pixels = Float[Tensor, "image channel height width"]
Asked = tuple[int, list[Item]]  # of a part


class Reading(NamedTuple):
    """`seen`: as the model sees them, 8-bit; black where `errors` says why a picture could not be read. `sha256`: of a
    file's bytes, of a drawn picture's pixels. `seconds`: what it took. `gone`: why the source is no more readable."""

    part: int
    keys: list[str]
    labels: list[str | None]
    sha256: list[bytes | None]
    sizes_hw: list[tuple[int, int] | None]
    errors: list[str]
    seen: UInt8[Tensor, "image channel height width"]
    seconds: float
    gone: str


class Prepared(Dataset):
    """Batches of a source for one model."""

    def __init__(self, source: Source, needs: Preprocessing) -> None:
        self.source, self.needs = source, needs

    def __getitem__(self, asked: Asked) -> Reading:
        began, (part, items) = time.perf_counter(), asked
        seen = torch.zeros(len(items), self.needs.channels, *self.needs.size_hw, dtype=torch.uint8)
        sha256: list[bytes | None] = [None] * len(items)
        sizes: list[tuple[int, int] | None] = [None] * len(items)
        errors, gone = [""] * len(items), ""
        for row, item in enumerate(items):
            try:
                content = self.source.read(item.where)
                file = content if isinstance(content, bytes) else content.tobytes()
                sha256[row] = hashlib.sha256(file).digest()
                rgb = open_image(content) if isinstance(content, bytes) else content
                sizes[row] = rgb.shape[0], rgb.shape[1]
                seen[row] = torch.from_numpy(eight_bit(rgb, self.needs))
            except ImageError as error:
                errors[row] = str(error)
            except DatasetError as error:  # not raised: torch would hide it behind the traceback of its process
                gone = str(error)
                break
        keys, labels = [item.key for item in items], [item.label for item in items]
        return Reading(part, keys, labels, sha256, sizes, errors, seen, time.perf_counter() - began, gone)


def eight_bit(rgb: RGB, needs: Preprocessing) -> UInt8[np.ndarray, "channel rows columns"]:
    """A quarter of the bytes to pass between processes, and nothing lost: `prepare` starts from these values."""
    return np.ascontiguousarray(unprepare(prepare(rgb, needs)[0], needs).transpose(2, 0, 1)[: needs.channels])


def pixels_on(
    device: torch.device, pictures: UInt8[Tensor, "image channel height width"], needs: Preprocessing
) -> Pixels:
    """(value / 255 − mean) / std on the device, as `vizkit.image.prepare` gives it."""
    mean, std = (torch.tensor(each, device=device)[:, None, None] for each in (needs.mean, needs.std))
    return (pictures.to(device, non_blocking=True).float() / 255 - mean) / std


def loader(pictures: Prepared, batches: Iterable[Asked], workers: int, pin: bool) -> DataLoader:
    """Batches in their order, asked for a little ahead. A small `prefetch_factor`: containers often have 64 MB of
    shared memory."""
    ahead = {"prefetch_factor": 2} if workers else {}
    kept = {"sampler": batches, "batch_size": None, "collate_fn": _as_it_is}
    return DataLoader(pictures, num_workers=workers, pin_memory=pin, **kept, **ahead)  # type: ignore[arg-type]


def _as_it_is(reading: Reading) -> Reading:
    return reading


def workers_for(device: str, images: int | None) -> int:
    """One process reads while a CPU computes; a GPU needs more. A few pictures are read before a process has begun."""
    cores = os.cpu_count() or 1
    if (images is not None and images < 200) or cores < 2:
        return 0
    return min(MOST_WORKERS, cores - 1) if device == "cuda" else 1
