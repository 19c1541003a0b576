"""Annotated pictures with the mask of every thing, as batches for the mask head."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.utils.data import Dataset

from vizkit.datasets.scenes.annotated import BoxSet
from vizkit.models.detection.segmenting import FINEST, Segments
from vizkit.training.detection.batches import NOTHING, rows_of, turned
from vizkit.training.pictures.batches import Key

BOX = 5  # class and box come first in a row, then its mask


class MaskedScenes(Dataset):
    """One split in memory: (pictures, (picture, thing, 5 + pixel)): class and box as in `Scenes`, then the thing's mask
    at stride 4, row by row. The scenes are drawn as large as the model takes them.

    `mirrors`: the chance of a left-right flip; then the picture may also be turned, as seen from above.
    """

    def __init__(self, scenes: BoxSet, side: int, tell: Callable[[int], None], mirrors: float = 0.0) -> None:
        self.mirrors = mirrors
        self.seen = np.empty((len(scenes), side, side, 4), np.uint8)  # the picture, and which thing is seen there
        self.rows: list[Float[np.ndarray, "_thing 5"]] = []
        for index in range(len(scenes)):
            scene = scenes[index]
            assert scene.instances is not None
            self.seen[index] = np.dstack([scene.picture, scene.instances])
            self.rows.append(rows_of(scene))
            tell(index + 1)

    def __len__(self) -> int:
        return len(self.rows)

    def truth(self, index: int) -> Segments:
        """Of a scene as it was drawn."""
        return Segments(self.seen[index, ..., 3], self.rows[index][:, 0].astype(np.int64))

    def __getitems__(self, keys: Sequence[Key]) -> tuple[UInt8[Tensor, "_p _h _w 3"], Float[Tensor, "_p _thing _row"]]:
        changed = [self._changed(index, seed) for index, seed in keys]
        most = max(len(rows) for _, rows in changed)
        side = self.seen.shape[1] // FINEST
        padded = np.full((len(keys), most, BOX + side * side), NOTHING, np.float32)
        for place, (seen, rows) in enumerate(changed):
            padded[place, : len(rows), :BOX] = rows
            padded[place, : len(rows), BOX:] = masks_of(seen[..., 3], len(rows)).reshape(len(rows), side * side)
        return torch.from_numpy(np.stack([seen[..., :3] for seen, _ in changed])), torch.from_numpy(padded)

    def _changed(
        self, index: int, seed: int
    ) -> tuple[UInt8[np.ndarray, "_height _width 4"], Float[np.ndarray, "_thing 5"]]:
        if not self.mirrors:
            return self.seen[index], self.rows[index]
        draw = np.random.default_rng(seed)
        flip = bool(draw.random() < self.mirrors)
        return turned(self.seen[index], self.rows[index], flip, int(draw.integers(4)))


def masks_of(
    instances: UInt8[np.ndarray, "_height _width"], count: int
) -> Float[np.ndarray, "{count} _small_height _small_width"]:
    """Of each thing 1 where it fills at least half of a cell of 4 × 4 pixels, else 0."""
    height, width = (side // FINEST for side in instances.shape)
    cells = instances.reshape(height, FINEST, width, FINEST)
    share = [(cells == place + 1).mean((1, 3)) for place in range(count)]
    return (np.array(share).reshape(count, height, width) >= 0.5).astype(np.float32)
