"""A pair made of any picture: it is shrunk, and its reference is more or less like it, or another picture."""

import numpy as np
from PIL import Image

from vizkit.datasets.insects import LABELS, label_of
from vizkit.datasets.pairs.drawn import RGB, TIMES, DrawnPairs, Pair, halved, posing, shrunk, shuffled
from vizkit.image import digest_of

DRAWN = DrawnPairs("test", 2 * len(LABELS))
NO_TRUTH = np.zeros((0, 0, 3), np.uint8)
"""Of a picture that is so small that it is enlarged as it is."""


def truth_known(rgb: RGB, side: int) -> bool:
    return max(rgb.shape[:2]) > side


def pair_of(rgb: RGB, level: str, side: int, kind: str = "") -> Pair:
    """The longer side of the small picture is `side`. `level`: of LEVELS; `kind`: of LABELS, of a drawn insect."""
    small, truth, scene = _taken(rgb, side)
    draw = np.random.default_rng([side, *digest_of(rgb).encode()[:8]])
    if level in ("kind", "other"):
        label = LABELS.index(kind) if kind else -1
        wanted = label if level == "kind" else (label + 3) % len(LABELS)
        index = next(index for index in range(len(DRAWN)) if label_of(index, DRAWN.split) == wanted)
        return Pair(small, posing(DRAWN.scene(index), draw), truth, level)
    reference = posing(scene, draw)
    if level == "shuffled":
        reference = shuffled(reference, draw)
    if level == "noise":
        reference = draw.integers(256, size=reference.shape, dtype=np.uint8)
    if level == "picture":
        reference = DRAWN.reference("picture", scene, 0, draw, DRAWN.scene)
    return Pair(small, reference, truth, level)


def pair_with(rgb: RGB, other: RGB, side: int) -> Pair:
    """The same with another picture as the reference, shrunk to the size of the truth where it is larger."""
    small, truth, _ = _taken(rgb, side)
    fits = max(other.shape[:2]) <= TIMES * side
    return Pair(small, other if fits else halved(_scene(other, side)), truth, "")


def _scene(rgb: RGB, side: int) -> RGB:
    """The picture twice as large as the truth is, its sides multiples of eight."""
    longest = 2 * TIMES * side
    rows, columns = (max(8, round(longest * each / max(rgb.shape[:2]) / 8) * 8) for each in rgb.shape[:2])
    return np.asarray(Image.fromarray(rgb).resize((columns, rows), Image.Resampling.LANCZOS))


def _taken(rgb: RGB, side: int) -> tuple[RGB, RGB, RGB]:
    """(small, truth, scene)."""
    scene = _scene(rgb, side)
    if not truth_known(rgb, side):
        return rgb, NO_TRUTH, scene
    truth = halved(scene)
    return shrunk(truth), truth, scene
