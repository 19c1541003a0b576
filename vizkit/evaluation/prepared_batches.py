"""Pictures to batches: prepared as the app does it, in reading processes; a broken file gives a sentence, no error."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.image import RGB, Preprocessing, prepare, unprepare

Pixels = Float[Tensor, "image channel height width"]


class PreparedPictures(Dataset):
    """Each picture as a model sees it, 8-bit, and why it could not be read: empty where it could."""

    def __init__(self, images: ImageSet, needs: Preprocessing) -> None:
        self.images, self.needs = images, needs

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[UInt8[Tensor, "channel height width"], str]:
        try:
            rgb, _ = self.images[index]
            return torch.from_numpy(eight_bit(rgb, self.needs)), ""
        except DatasetError as error:
            return torch.zeros(self.needs.channels, *self.needs.size_hw, dtype=torch.uint8), str(error)


def eight_bit(rgb: RGB, needs: Preprocessing) -> UInt8[np.ndarray, "channel rows columns"]:
    """A quarter of the bytes to pass between processes, and nothing lost: `prepare` starts from these values."""
    return np.ascontiguousarray(unprepare(prepare(rgb, needs)[0], needs).transpose(2, 0, 1)[: needs.channels])


def pixels_on(
    device: torch.device, pictures: UInt8[Tensor, "image channel height width"], needs: Preprocessing
) -> Pixels:
    """(value / 255 − mean) / std on the device, as `vizkit.image.prepare` gives it."""
    mean, std = (torch.tensor(each, device=device)[:, None, None] for each in (needs.mean, needs.std))
    return (pictures.to(device, non_blocking=True).float() / 255 - mean) / std


def loader(images: PreparedPictures, batches: Sequence[Int[np.ndarray, " _"]], workers: int, pin: bool) -> DataLoader:
    """Batches of (pictures, sentences). A small `prefetch_factor`: containers often have 64 MB of shared memory."""
    ahead = {"prefetch_factor": 2} if workers else {}
    chosen = [batch.tolist() for batch in batches]
    return DataLoader(images, batch_sampler=chosen, num_workers=workers, pin_memory=pin, **ahead)  # type: ignore[arg-type]
