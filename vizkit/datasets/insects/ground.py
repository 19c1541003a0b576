"""The bed of the water, out of focus: sand, mud, gravel, stones, leaf litter, weed, or open water."""

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from vizkit.datasets.insects.light import cloud
from vizkit.datasets.insects.outline import leaf, oval, strip
from vizkit.datasets.insects.palette import colour, hue
from vizkit.datasets.insects.pose import SUBPIXEL, fill, fixed

SIDE = 128  # the bed is painted on this grid and enlarged, so that it is the same at every size
KINDS = ("sand", "mud", "gravel", "stones", "litter", "weed", "open water")


def bed(draw: np.random.Generator, brightness: float) -> UInt8[np.ndarray, "128 128 3"]:
    """A bed of a random kind whose mean brightness is about `brightness`, 0..255."""
    tint, other = hue(draw), hue(draw)
    kind = KINDS[draw.integers(len(KINDS))]
    rough = {"open water": 3.0, "mud": 8.0}.get(kind, 11.0)
    tone = cloud(draw, 4, SIDE) * 9 + cloud(draw, 11, SIDE) * rough * 0.7 + cloud(draw, 37, SIDE) * rough * 0.5
    if kind in ("sand", "gravel", "stones", "litter"):
        tone += (draw.random((SIDE, SIDE), dtype=np.float32) - 0.5) * 26
    share, level = cloud(draw, 3, SIDE) * 0.35 + 0.35, tone + np.float32(brightness)
    mixed = [level * (float(a) + float(b - a) * share) for a, b in zip(tint, other, strict=True)]
    picture = cv2.merge([np.clip(np.rint(channel), 0, 255).astype(np.uint8) for channel in mixed])
    if kind == "gravel":
        _pebbles(picture, draw, (tint, other), brightness, 60, (0.018, 0.048))
    elif kind == "stones":
        _pebbles(picture, draw, (tint, other), brightness, 22, (0.05, 0.13))
    elif kind == "litter":
        _leaves(picture, draw, (tint, other), brightness)
    elif kind == "weed":
        _stems(picture, draw, (tint, other), brightness)
    return cv2.GaussianBlur(picture, (3, 3), 0)


Tints = tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]


def _pebbles(
    picture: np.ndarray,
    draw: np.random.Generator,
    tints: Tints,
    brightness: float,
    count: int,
    size: tuple[float, float],
) -> None:
    draws = draw.random((count, 6))
    radius = (size[0] + (size[1] - size[0]) * draws[:, 2])[:, None, None]
    disc = oval((0.0, 0.0), 1.0, 1.0, points=10)[None] * radius
    flat = 0.65 + 0.35 * draws[:, 5]
    cos, sin = np.cos(3 * draws[:, 3]), np.sin(3 * draws[:, 3])
    turns = np.stack([np.stack([cos, -sin], 1), np.stack([sin * flat, cos * flat], 1)], 1)
    stone, centre, off = disc @ turns, draws[:, None, :2], radius * (0.15, 0.2)
    levels = brightness + 36 * (draws[:, 4] - 0.5)
    paints = np.clip(np.array(tints)[(draws[:, 5] * 2).astype(int)] * levels[:, None], 0, 235)
    # Of each stone its shadow, itself, and its lit top; stone by stone, so that later ones lie on earlier ones.
    looks = np.stack([stone + centre + off, stone + centre, stone * 0.6 + centre - off], 1)
    for three, paint in zip(fixed(looks, SIDE), paints, strict=True):
        for points, share in zip(three, (0.65, 1.0, 1.08), strict=True):
            cv2.fillPoly(picture, [points], (paint * share).tolist(), cv2.LINE_AA, SUBPIXEL)


def _leaves(picture: np.ndarray, draw: np.random.Generator, tints: Tints, brightness: float) -> None:
    for x, y, size, turn, level, pick in draw.random((16, 6)):
        blade = leaf((x * 1.2 - 0.1, y * 1.2 - 0.1), 6.3 * turn, 0.18 + 0.2 * size, 0.03 + 0.05 * size * pick, level)
        shade = brightness + 40 * (level - 0.5)
        fill(picture, blade + 0.012, colour(tints[0], shade * 0.66))
        fill(picture, blade, colour(tints[int(pick * 2)], shade))


def _stems(picture: np.ndarray, draw: np.random.Generator, tints: Tints, brightness: float) -> None:
    lean = draw.uniform(-0.5, 0.5)
    for x, y, size, sway, level, pick in draw.random((14, 6)):
        x, top = 1.4 * x - 0.2, y * 0.7 - 0.1
        width = 0.006 + 0.016 * size
        middle, tip = (x + (sway - 0.5) * 0.2, (1.1 + top) / 2), (x + lean * (1.1 - top) * 0.5, top)
        stem = strip([(x, 1.1, width), (*middle, width), (*tip, 0.002)])
        fill(picture, stem, colour(tints[int(pick * 2)], brightness + 44 * (level - 0.5)))
