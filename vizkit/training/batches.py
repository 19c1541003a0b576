"""Pictures to batches: fitted as the app fits them, ordered and augmented from seeds alone.

What an epoch shows follows from (seed, epoch) and an image's index, never from how many workers or processes there
are or how often the run was killed; so a resumed run and a run of two processes see what one uninterrupted run sees.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from vizkit.datasets.image_set import ImageSet
from vizkit.image import Preprocessing, prepare, unprepare
from vizkit.training.recipe import Recipe

Pixels = Float[Tensor, "image 3 height width"]
Key = tuple[int, int]  # index in the set, seed of its augmentation


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
        with torch.random.fork_rng(devices=[]):
            seed_everything(seed)
            return torch.from_numpy(np.array(self.change(Image.fromarray(rgb)))), label


def fitted(rgb: UInt8[np.ndarray, "_ _ 3"], needs: Preprocessing) -> UInt8[np.ndarray, "height width 3"]:
    """A picture resized and cropped exactly as the app does it before a model."""
    return unprepare(prepare(rgb, needs)[0], needs)


def seed_everything(seed: int) -> None:
    """timm's augmentation draws from all three."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def seed_of(*numbers: int) -> int:
    """One seed from several numbers, spread over 32 bits."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


class Batches(Sampler):
    """The keys of each step: this process's share of the global batch, the same split for every number of processes."""

    def __init__(self, images: int, recipe: Recipe, rank: int = 0, processes: int = 1) -> None:
        self.images, self.recipe, self.epoch = images, recipe, 0
        self.shown = images * recipe.passes * recipe.repeats
        self.batch = min(recipe.batch, self.shown)
        if self.batch % processes:
            raise ValueError(f"A batch of {self.batch} images does not divide among {processes} processes.")
        share = self.batch // processes
        self.own = slice(rank * share, (rank + 1) * share)

    def __len__(self) -> int:
        return self.shown // self.batch

    def __iter__(self) -> Iterator[list[Key]]:
        draw = np.random.default_rng([self.recipe.seed, self.epoch])
        # Repeated augmentation (Hoffer et al. 2020): copies of an image lie in the same or the next batch.
        order = np.concatenate([draw.permutation(self.images) for _ in range(self.recipe.passes)])
        order = order.repeat(self.recipe.repeats)
        seeds = draw.integers(2**32, size=len(order))
        for start in range(0, len(self) * self.batch, self.batch):
            keys = zip(order[start : start + self.batch], seeds[start : start + self.batch], strict=True)
            yield [(int(index), int(seed)) for index, seed in keys][self.own]


def loader(data: Dataset, batches: Any, workers: int, pin: bool = False) -> DataLoader:  # noqa: ANN401
    keep = {"persistent_workers": True, "prefetch_factor": 4} if workers else {}
    if hasattr(data, "__getitems__"):  # whole batches from memory, and nothing to do for another process
        return DataLoader(data, batch_sampler=batches, pin_memory=pin, collate_fn=as_it_is)
    return DataLoader(data, batch_sampler=batches, num_workers=workers, pin_memory=pin, **keep)


def as_it_is(batch: Any) -> Any:  # noqa: ANN401
    return batch


def normalised(pictures: UInt8[Tensor, "image height width 3"], needs: Preprocessing, device: torch.device) -> Pixels:
    """(value / 255 − mean) / std on the device."""
    mean, std = (torch.tensor(each, device=device)[:, None, None] for each in (needs.mean, needs.std))
    return (pictures.to(device, non_blocking=True).permute(0, 3, 1, 2).float() / 255 - mean) / std
