"""Pairs of drawn insects, endless and from seeds: the picture to be restored, and a reference of a chosen likeness.

same       the same scene, turned, shifted, scaled and lit otherwise
kind       another animal of the same kind, in another scene
other      an animal of another kind
picture    part of a photograph (one for training, another one for the rest)
shuffled   the pixels of "same" in any order: its colours without its texture
noise      every pixel any colour
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from vizkit.datasets import photographs
from vizkit.datasets.image_set import SPLITS, DatasetError, digest_of
from vizkit.datasets.insects import DECIDING, DIFFICULTIES, LABELS, label_of
from vizkit.datasets.insects.scene import Streams, paint
from vizkit.datasets.insects.species import SPECIES
from vizkit.datasets.insects.specimen import Specimen

LEVELS = ("same", "kind", "other", "picture", "shuffled", "noise")
SHARES = (0.5, 0.08, 0.09, 0.11, 0.11, 0.11)
"""How often each level is trained on. A third is useless, so that the network learns to refuse."""
TIMES = 4
SIDE = 96
"""Pixels of the picture and the reference; the small picture has a quarter of it."""
PLAIN = replace(DIFFICULTIES["normal"], noise=0.0, occlusion=0.0)
"""No sensor noise: nothing could restore it, with or without a reference."""
_STREAM = 20  # apart from the streams of the insects that are told apart
RGB = UInt8[np.ndarray, "_row _column 3"]


class Pair(NamedTuple):
    """8-bit RGB. `small`: what is given; `truth`: what it was made from, TIMES as large."""

    small: RGB
    reference: RGB
    truth: RGB
    level: str


def shrunk(picture: RGB) -> RGB:
    """A quarter of each side, by Pillow's bicubic, which averages; sides that are no multiples of four are cut."""
    rows, columns = (side // TIMES * TIMES for side in picture.shape[:2])
    image = Image.fromarray(np.ascontiguousarray(picture[:rows, :columns]))
    return np.asarray(image.resize((columns // TIMES, rows // TIMES), Image.Resampling.BICUBIC))


class ScenePairs:
    """`count` scenes of a split, each of which makes pairs from seeds: a picture, or along a first axis the picture and
    its own reference."""

    split: str
    count: int
    seed: int
    levels: Any
    shares: Any
    stream: int
    scene: Any
    same: Any
    unlike: Any

    def __len__(self) -> int:
        return self.count

    def pair(
        self,
        index: int,
        seed: int = 0,
        *,
        level: str = "",
        posed: bool = False,
        scene: Callable[[int], np.ndarray] | None = None,
    ) -> Pair:
        """The pair of scene `index`. `level`: of LEVELS; "" draws one by SHARES. `posed`: the picture itself is turned
        and lit by `seed`, too (for training). `scene`: where scenes are kept that were drawn or read before."""
        kept = scene or self.scene
        draw = np.random.default_rng([self.seed, SPLITS.index(self.split), index, seed, self.stream])
        drawn = str(draw.choice(self.levels, p=self.shares))
        level = level or drawn
        own = kept(index)
        if posed:
            own = np.rot90(own, int(draw.integers(4)), axes=(-3, -2))[..., :: int(draw.choice((-1, 1))), :]
        picture = own.reshape(-1, *own.shape[-3:])[0]
        truth = posing(picture, draw) if posed else halved(picture)
        return Pair(shrunk(truth), self.reference(level, own, index, draw, kept), truth, level)

    def reference(
        self, level: str, own: np.ndarray, index: int, draw: np.random.Generator, scene: Callable[[int], np.ndarray]
    ) -> RGB:
        if level in ("same", "shuffled"):
            same = self.same(own, draw)
            return same if level == "same" else shuffled(same, draw)
        if level == "noise":
            return draw.integers(256, size=(SIDE, SIDE, 3), dtype=np.uint8)
        return self.unlike(level, index, draw, scene)


@dataclass(frozen=True)
class DrawnPairs(ScenePairs):
    """Drawn insects. The same arguments give the same pairs everywhere."""

    split: str
    count: int
    seed: int = 0
    levels, shares, stream = LEVELS, SHARES, _STREAM + 3

    def __post_init__(self) -> None:
        if self.split not in SPLITS or self.count < 2 * len(LABELS):
            raise DatasetError(f"Pairs are drawn for {', '.join(SPLITS)}, {2 * len(LABELS)} scenes at least.")

    @property
    def digest(self) -> str:
        return digest_of("drawn pairs", self.split, self.count, self.seed)

    def scene(self, index: int) -> RGB:
        """Scene `index`, drawn twice as large as a picture shows it, so that a turned one is as sharp."""
        place = SPLITS.index(self.split)
        streams = Streams(*(np.random.default_rng([self.seed, place, index, _STREAM + k]) for k in range(3)))
        label = LABELS[label_of(index, self.split, self.seed)]
        animal = Specimen(streams.animal)
        SPECIES[label](animal)
        return paint(animal, DECIDING[label], PLAIN, streams, 2 * SIDE)[0]

    def same(self, own: RGB, draw: np.random.Generator) -> RGB:
        return posing(own, draw)

    def unlike(self, level: str, index: int, draw: np.random.Generator, scene: Callable[[int], RGB]) -> RGB:
        if level in ("kind", "other"):
            return posing(scene(self.another(index, draw, of_kind=level == "kind")), draw)
        if level == "picture":
            photograph = _photograph("china" if self.split == "train" else "flower")
            row, column = (int(draw.integers(side - 2 * SIDE + 1)) for side in photograph.shape[:2])
            return halved(photograph[row : row + 2 * SIDE, column : column + 2 * SIDE])
        raise DatasetError(f"There is no likeness {level!r}; there are {', '.join(LEVELS)}.")

    def another(self, index: int, draw: np.random.Generator, *, of_kind: bool) -> int:
        """A scene other than `index`, with an animal of the same kind or of another one."""
        own = label_of(index, self.split, self.seed)
        whole = self.count // len(LABELS) * len(LABELS)  # every kind is among each twelve
        while True:
            other = int(draw.integers(whole))
            if other != index and (label_of(other, self.split, self.seed) == own) == of_kind:
                return other


@cache
def _photograph(name: str) -> RGB:
    return photographs.picture(name)


def shuffled(picture: RGB, draw: np.random.Generator) -> RGB:
    """Its pixels in any order."""
    return draw.permutation(picture.reshape(-1, 3)).reshape(picture.shape)


def halved(picture: RGB) -> RGB:
    """Half of each side, every pixel the mean of four."""
    return np.asarray(Image.fromarray(np.ascontiguousarray(picture)).reduce(2))


def posing(picture: RGB, draw: np.random.Generator) -> RGB:
    """The picture turned by up to 8°, shifted by up to a tenth of its sides, up to 8 % larger or smaller, up to 15 %
    brighter or darker, and halved. What comes in from beyond its border is its border."""
    rows, columns = picture.shape[:2]
    turn, scale = np.radians(draw.uniform(-8, 8)), 1 / draw.uniform(0.92, 1.08)
    across, down = draw.uniform(-0.1, 0.1, 2) * (columns, rows)
    light = draw.uniform(0.85, 1.15)
    cos, sin = scale * np.cos(turn), scale * np.sin(turn)
    margin = max(rows, columns) // 4
    framed = np.pad(picture, ((margin, margin), (margin, margin), (0, 0)), mode="edge")
    x, y = (columns - 1) / 2, (rows - 1) / 2
    from_x, from_y = x + margin + across, y + margin + down  # of the frame, where the middle is taken from
    matrix = (cos, -sin, from_x - cos * x + sin * y, sin, cos, from_y - sin * x - cos * y)
    moved = Image.fromarray(framed).transform(
        (columns, rows), Image.Transform.AFFINE, matrix, resample=Image.Resampling.BICUBIC
    )
    lit = np.clip(np.asarray(moved.reduce(2), np.float32) * light, 0, 255)
    return np.rint(lit).astype(np.uint8)
