"""A set with faults that are known: wrong labels, near copies, a mark in the corner of one class. What looks for faults
is judged by it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from vizkit.datasets.image_set import Fault, ImageSet, Source, digest_of
from vizkit.image import RGB

BRIGHTER, MARK = 1.06, (230, 40, 200)
SMALL_PX = 32
EDITION = 3  # of what is planted: no cache confuses it with another one
MARK_SHARE = 0.14  # of the picture's side


@dataclass(frozen=True)
class Planted(Source):
    """`wrong`: the true label of each picture that was given another; `copies`: of which picture it is a copy, a little
    brighter and, where a pixel is not much, moved by one; `marked`: pictures with the mark."""

    whole: Source
    wrong: Mapping[int, int] = field(default_factory=dict)
    copies: Mapping[int, int] = field(default_factory=dict)
    marked: frozenset[int] = frozenset()

    def picture(self, index: int) -> RGB:
        rgb = self.whole.picture(self.copies.get(index, index))
        if index in self.copies:
            rgb = np.roll((rgb * BRIGHTER).clip(0, 255).round().astype(np.uint8), rgb.shape[1] > SMALL_PX, 1)
        if index in self.marked:
            rgb, side = rgb.copy(), max(2, round(MARK_SHARE * min(rgb.shape[:2])))
            rgb[2 : 2 + side, 2 : 2 + side] = MARK
        return rgb

    def place(self, index: int) -> str:
        return self.whole.place(index)

    def fault(self, index: int) -> Fault:
        return Fault(self.wrong.get(index), index in self.copies, index in self.marked)


def planted(
    images: ImageSet, labels: float = 0.1, copies: int = 4, marked: tuple[int, float] | None = None, seed: int = 0
) -> ImageSet:
    """The same pictures, a share `labels` of them with another label, `copies` near copies, each of a picture of its
    class before it, and with `marked`, a label and a share, the mark in so many of that label's. Which, says its
    `source`, a Planted."""
    chance, targets = np.random.default_rng(seed), images.targets.copy()
    order = chance.permutation(len(images)).tolist()
    count = round(labels * len(images)) if len(images.labels) > 1 else 0
    wrong = {row: int(targets[row]) for row in order[:count]}
    of: dict[int, int] = {}
    for row in order[count:]:
        if len(of) == copies:
            break
        before = np.flatnonzero(targets[:row] == targets[row])[::-1].tolist()
        first = next((other for other in before if other not in wrong and other not in of), None)
        if first is not None and row not in of.values():
            of[row] = first
    for row, own in wrong.items():
        targets[row] = (own + chance.integers(1, len(images.labels))) % len(images.labels)
    label, share = marked or (0, 0.0)
    rows = chance.permutation(np.flatnonzero(targets == label))
    some = frozenset(rows[: round(share * len(rows))].tolist())
    source = Planted(images.source, wrong, of, some)
    digest = digest_of(
        "planted", EDITION, images.digest, sorted(wrong), sorted(of.items()), sorted(some), targets.tobytes()
    )
    return replace(images, targets=targets, source=source, digest=digest)
