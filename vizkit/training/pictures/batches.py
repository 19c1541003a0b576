"""Pictures to batches: fitted as the app fits them, ordered and augmented from seeds alone.

What an epoch shows follows from (seed, epoch) and an image's place in it, never from how many workers or processes
there are or how often the run was killed; so a resumed run and a run of two processes see what one uninterrupted run
sees. No number is drawn from the generators that the whole process shares.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from vizkit.datasets.image_set import ImageSet
from vizkit.image import Preprocessing, prepare, unprepare
from vizkit.training.recipe import Recipe, RecipeError

Pixels = Float[Tensor, "image channel height width"]
Key = tuple[int, int]  # index in the set, seed of its augmentation
_GENERATORS = threading.RLock()


class Fitted(Dataset):
    """The pictures of a set as the model sees them, 8-bit, and their labels; `change` is applied to a picture."""

    def __init__(
        self, images: ImageSet, needs: Preprocessing, change: Callable[[Image.Image], Any] | None = None
    ) -> None:
        self.images, self.needs, self.change = images, needs, change

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, key: Key) -> tuple[UInt8[Tensor, "height width 3"], int]:
        index, seed = key
        rgb, label = self.images[index]
        if self.change is None:
            return torch.from_numpy(fitted(rgb, self.needs)), label
        with drawn_from(seed):
            return torch.from_numpy(np.array(self.change(Image.fromarray(rgb)))), label


def fitted(rgb: UInt8[np.ndarray, "_ _ 3"], needs: Preprocessing) -> UInt8[np.ndarray, "height width 3"]:
    """A picture resized and cropped exactly as the app does it before a model."""
    return unprepare(prepare(rgb, needs)[0], needs)


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """The generators of the process, from which timm's transforms draw, set to a seed and then restored."""
    with _GENERATORS, torch.random.fork_rng(devices=[]):
        before = random.getstate(), np.random.get_state()
        random.seed(seed)
        np.random.seed(seed % 2**32)
        torch.default_generator.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])


def seed_of(*numbers: int) -> int:
    """One seed from several numbers, spread over 32 bits."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


class Batches(Sampler):
    """The keys of an epoch, part by part: this process's share of each global batch, in `accumulate` parts.

    The batches are the same for every number of processes and parts. A part is closed under turning the batch over:
    with a picture it has the one that Mixup mixes it with. `steps`: changes of the weights in an epoch; `own`: the rows
    of each part in the global batch. Raises RecipeError where the batch does not divide.
    """

    def __init__(self, images: int, recipe: Recipe, rank: int = 0, processes: int = 1) -> None:
        self.images, self.recipe, self.epoch = images, recipe, 0
        self.shown = images * recipe.passes * recipe.repeats
        parts = processes * recipe.accumulate
        few = parts * 2 if recipe.mixes else parts
        self.batch = min(recipe.batch, self.shown // few * few)
        if self.batch % few or not self.batch:
            pairs = " in pairs, as Mixup and CutMix need them," if recipe.mixes else ""
            raise RecipeError(
                f"A batch of {self.batch or self.shown} images does not divide{pairs} among {processes} processes with "
                f"{recipe.accumulate} parts each: change batch or accumulate."
            )
        self.steps = self.shown // self.batch
        outside_in = np.stack([np.arange(self.batch), np.arange(self.batch)[::-1]], 1).ravel()[: self.batch]
        mine = slice(rank * recipe.accumulate, (rank + 1) * recipe.accumulate)
        self.own = np.sort(outside_in.reshape(parts, -1))[mine]

    def __len__(self) -> int:
        return self.steps * len(self.own)

    def __iter__(self) -> Iterator[list[Key]]:
        draw = np.random.default_rng([self.recipe.seed, self.epoch])
        # Repeated augmentation (Hoffer et al. 2020): copies of an image lie in the same or the next batch.
        order = np.concatenate([draw.permutation(self.images) for _ in range(self.recipe.passes)])
        order = order.repeat(self.recipe.repeats)
        seeds = draw.integers(2**32, size=len(order))
        for start in range(0, self.steps * self.batch, self.batch):
            for rows in self.own + start:
                yield list(zip(order[rows].tolist(), seeds[rows].tolist(), strict=True))


def in_order(total: int, batch: int, process: int = 0, processes: int = 1) -> list[list[Key]]:
    """What one of several processes reads of a set, batch by batch, nothing changed: every `processes`-th batch."""
    starts = range(process * batch, total, processes * batch)
    return [[(row, 0) for row in range(start, min(start + batch, total))] for start in starts]


def loader(data: Dataset, batches: Any, workers: int, pin: bool = False) -> DataLoader:
    options = {"batch_sampler": batches, "pin_memory": pin}
    options["generator"] = torch.Generator()  # without one of its own it would draw from the generator of the process
    if hasattr(data, "__getitems__"):  # whole batches from memory, and nothing to do for another process
        return DataLoader(data, collate_fn=_as_it_is, **options)
    keep = {"persistent_workers": True, "prefetch_factor": 4} if workers else {}
    return DataLoader(data, num_workers=workers, **options, **keep)


def _as_it_is(batch: Any) -> Any:
    return batch


def normalised(pictures: UInt8[Tensor, "image height width 3"], needs: Preprocessing, device: torch.device) -> Pixels:
    """(value / 255 − mean) / std on the device; of a grey picture, for a model with one channel, one of its three."""
    mean, std = (torch.tensor(each, device=device)[:, None, None] for each in (needs.mean, needs.std))
    shown = pictures.to(device, non_blocking=True).permute(0, 3, 1, 2)[:, : needs.channels]
    return (shown.float() / 255 - mean) / std
