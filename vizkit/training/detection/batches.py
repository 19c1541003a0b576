"""Annotated pictures as batches: fitted to the model's size, boxes as shares of the picture, turned and mirrored."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.utils.data import Dataset

from vizkit.datasets.scenes.annotated import Annotated, BoxSet
from vizkit.datasets.scenes.changing import cropped, resized
from vizkit.image import Preprocessing
from vizkit.models.detection.matching import Things
from vizkit.training.pictures.batches import Key, fitted

NOTHING = -1.0
"""The class of a row that stands for no thing: pictures with fewer things than the most of their batch."""

Picture = UInt8[np.ndarray, "_height _width _channel"]
Rows = Float[np.ndarray, "_thing 5"]


class Scenes(Dataset):
    """One split in memory as the model sees it: (pictures, (picture, thing, 5)): class, then the box as `Things`.

    `mirrors`: the chance of a left-right flip; `quarters`: whether it may also be turned, as seen from above; `crop`:
    the smallest share of the area that a part of the picture may have which is shown in its place.
    """

    def __init__(
        self,
        scenes: BoxSet,
        needs: Preprocessing,
        tell: Callable[[int], None],
        mirrors: float = 0.0,
        quarters: bool = False,
        crop: float = 1.0,
    ) -> None:
        self.mirrors, self.quarters, self.crop = mirrors, quarters, crop
        self.pictures = np.empty((len(scenes), *needs.size_hw, 3), np.uint8)
        self.rows: list[Rows] = []
        for index in range(len(scenes)):
            scene = scenes[index]
            drawn_so = scene.picture.shape[:2] == needs.size_hw and needs.crop_pct == 1
            self.pictures[index] = scene.picture if drawn_so else fitted(scene.picture, needs)
            self.rows.append(rows_of(scene))
            tell(index + 1)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitems__(self, keys: Sequence[Key]) -> tuple[UInt8[Tensor, "_p _h _w 3"], Float[Tensor, "_p _thing 5"]]:
        changed = [self._changed(index, seed) for index, seed in keys]
        most = max(len(rows) for _, rows in changed)
        padded = np.full((len(keys), most, 5), NOTHING, np.float32)
        for place, (_, rows) in enumerate(changed):
            padded[place, : len(rows)] = rows
        return torch.from_numpy(np.stack([picture for picture, _ in changed])), torch.from_numpy(padded)

    def _changed(self, index: int, seed: int) -> tuple[Picture, Rows]:
        picture, rows = self.pictures[index], self.rows[index]
        draw = np.random.default_rng(seed)
        if self.mirrors:
            flip = bool(draw.random() < self.mirrors)
            picture, rows = turned(picture, rows, flip, int(draw.integers(4)) if self.quarters else 0)
        return (picture, rows) if self.crop == 1 else part(picture, rows, draw, self.crop)


def rows_of(scene: Annotated) -> Rows:
    """The class of each thing, then its box as `shares`."""
    boxes = shares(scene.boxes_xyxy, scene.picture.shape[:2])
    return np.concatenate([scene.labels[:, None], boxes], 1).astype(np.float32)


def shares(boxes_xyxy: Float[np.ndarray, "_thing 4"], size_hw: tuple[int, int]) -> Float[np.ndarray, "_thing 4"]:
    """Middle, width and height as shares of a picture of `size_hw` pixels: any resizing leaves them as they are."""
    height, width = size_hw
    left, top, right, bottom = (boxes_xyxy / np.array([width, height, width, height])).T
    return np.stack([(left + right) / 2, (top + bottom) / 2, right - left, bottom - top], 1)


def turned(picture: Picture, rows: Rows, flip: bool, quarters: int) -> tuple[Picture, Rows]:
    """Left and right exchanged, then turned by `quarters` × 90° against the clock, with its boxes."""
    rows = rows.copy()
    if flip:
        picture = picture[:, ::-1]
        rows[:, 1] = 1 - rows[:, 1]
    for _ in range(quarters % 4):  # what was on the right is now at the top
        rows[:, 1], rows[:, 2] = rows[:, 2].copy(), 1 - rows[:, 1]
        rows[:, 3], rows[:, 4] = rows[:, 4].copy(), rows[:, 3].copy()
    return np.rot90(picture, quarters), rows


def part(picture: Picture, rows: Rows, draw: np.random.Generator, least_area: float) -> tuple[Picture, Rows]:
    """A part of the picture, anywhere in it, of `least_area` to all of its area, made as large as the whole again;
    with the things of which enough is left."""
    height, width = picture.shape[:2]
    side = draw.uniform(least_area, 1) ** 0.5
    high, wide = max(1, round(height * side)), max(1, round(width * side))
    top, left = int(draw.integers(height - high + 1)), int(draw.integers(width - wide + 1))
    middle, size = rows[:, 1:3], rows[:, 3:]
    boxes = np.concatenate([middle - size / 2, middle + size / 2], 1) * np.array([width, height] * 2)
    whole = Annotated(np.ascontiguousarray(picture), boxes, rows[:, 0].astype(np.int64))
    seen = resized(cropped(whole, (left, top, left + wide, top + high)), (height, width))
    return seen.picture, rows_of(seen)


def things_of(rows: Float[Tensor, "_picture _thing 5"]) -> list[Things]:
    """Of each picture its things, without the rows that stand for none."""
    present = [each[each[:, 0] != NOTHING] for each in rows]
    return [Things(each[:, 0].long(), each[:, 1:]) for each in present]
