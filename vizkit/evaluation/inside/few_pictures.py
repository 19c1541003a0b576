"""Some labelled pictures of a set as the input of one model: what measurements of many passes go over."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.datasets import photographs
from vizkit.datasets.image_set import ImageSet
from vizkit.datasets.opening import open_set
from vizkit.image import prepare_all
from vizkit.models import Loaded


@dataclass(frozen=True)
class FewPictures:
    """Labelled pictures, and the model that is to see them."""

    images: ImageSet
    loaded: Loaded

    def __len__(self) -> int:
        return len(self.images)

    def pixels(self, rows: range) -> Float[Tensor, "image channel height width"]:
        """The model's input, on the CPU."""
        return torch.from_numpy(prepare_all([self.images[row][0] for row in rows], self.loaded.preprocessing))

    def batches(self, size: int, start: int = 0) -> Iterator[range]:
        """The numbers of the pictures from `start` on."""
        return (range(first, min(first + size, len(self))) for first in range(start, len(self), size))

    def labelled(
        self, size: int
    ) -> Iterator[tuple[Float[Tensor, "image channel height width"], Int[Tensor, " image"]]]:
        """So many at once: the model's input, on the CPU, and the classes in the set."""
        targets = torch.tensor(self.images.targets)
        return ((self.pixels(rows), targets[rows.start : rows.stop]) for rows in self.batches(size))


def few_pictures(loaded: Loaded, data: str, images: int | None, split: str = "test", seed: int = 0) -> FewPictures:
    """At most so many pictures of a split; "photographs" are those that come with vizkit, which have none. Raises
    DatasetError."""
    if data == "photographs":
        whole = photographs.as_set(split)
        return FewPictures(whole.take(np.arange(len(whole))[:images]), loaded)
    opened = open_set(data, split, images=images, size_px=max(loaded.preprocessing.size_hw), seed=seed)
    return FewPictures(opened, loaded)
