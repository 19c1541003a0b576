"""Pictures to batches: prepared as the app does it, in reading processes; a broken file gives a sentence, no error."""

import os
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from vizkit.datasets.image_set import DatasetError
from vizkit.explanations.source import Item, Source, rgb_of, sha256_of
from vizkit.explanations.table import PICTURE
from vizkit.image import RGB, ImageError, Preprocessing, prepare, unprepare

MOST_WORKERS = 8  # beside a GPU
Pixels = Float[Tensor, "image channel height width"]
Asked = tuple[int, list[Item]]  # of a part


class Reading(NamedTuple):
    """`pictures`: a row of PICTURE each. `seen`: as `stored_input` gives them; zeros where `error` says why a picture
    could not be read. `seconds`: what it took. `gone`: why the source is no more readable."""

    part: int
    pictures: pyarrow.RecordBatch
    seen: Shaped[Tensor, "image channel height width"]
    seconds: float
    gone: str


class Prepared(Dataset):
    """Batches of a source for one model."""

    def __init__(self, source: Source, needs: Preprocessing) -> None:
        self.source, self.needs = source, needs

    def __getitem__(self, asked: Asked) -> Reading:
        began, (part, items) = time.perf_counter(), asked
        kind = torch.uint8 if self.needs.translated else torch.float32
        seen = torch.zeros(len(items), self.needs.channels, *self.needs.size_hw, dtype=kind)
        rows: list[dict[str, Any]] = [{"key": item.key, "label": item.label} for item in items]
        gone = ""
        for at, (row, item) in enumerate(zip(rows, items, strict=True)):
            try:
                content = self.source.read(item.where)
                row["sha256"] = sha256_of(content)
                rgb = rgb_of(content)
                row["height_px"], row["width_px"], _ = rgb.shape
                seen[at] = torch.from_numpy(stored_input(rgb, self.needs))
            except ImageError as error:
                row["error"] = str(error)
            except DatasetError as error:  # not raised: torch would hide it behind the traceback of its process
                gone = str(error)
                break
        pictures = pyarrow.RecordBatch.from_pylist(rows, PICTURE)
        return Reading(part, pictures, seen, time.perf_counter() - began, gone)


def stored_input(rgb: RGB, needs: Preprocessing) -> Shaped[np.ndarray, "channel rows columns"]:
    """A quarter of the bytes to pass between processes, and nothing lost: `prepare` starts from these 8-bit values,
    but a model's own processor may not. Raises ImageError for a picture that does not come in the model's size."""
    prepared = prepare(rgb, needs)[0]
    if prepared.shape[1:] != needs.size_hw:
        own, others = ("×".join(map(str, hw)) for hw in (prepared.shape[1:], needs.size_hw))
        raise ImageError(f"The model takes this image as {own} pixels and not as {others}; look at it alone.")
    if not needs.translated:
        return prepared
    return np.ascontiguousarray(unprepare(prepared, needs).transpose(2, 0, 1)[: needs.channels])


def pixels_on(
    device: torch.device, pictures: Shaped[Tensor, "image channel height width"], needs: Preprocessing
) -> Pixels:
    """(value / 255 − mean) / std on the device, as `vizkit.image.prepare` gives it."""
    pictures = pictures.to(device, non_blocking=True)
    if pictures.is_floating_point():
        return pictures
    mean, std = (torch.tensor(each, device=device)[:, None, None] for each in (needs.mean, needs.std))
    return ((pictures.flip(1) if needs.channel_order == "BGR" else pictures).float() / 255 - mean) / std


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
