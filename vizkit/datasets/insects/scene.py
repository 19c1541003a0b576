"""One whole picture: bed, debris, animal, what covers it, light and camera."""

from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import UInt8

from vizkit.datasets.insects import debris, light
from vizkit.datasets.insects.difficulty import Difficulty
from vizkit.datasets.insects.ground import bed
from vizkit.datasets.insects.painting import layers, mottled
from vizkit.datasets.insects.palette import apart, colour, hue, shades
from vizkit.datasets.insects.pose import Posed, pose, raster
from vizkit.datasets.insects.specimen import PARTS, Specimen

_TRIES = 4  # for a thing that covers some of the animal, but not too much


class Streams(NamedTuple):
    """Independent random numbers for each concern: what one of them draws never shifts the others."""

    animal: np.random.Generator
    scenery: np.random.Generator
    camera: np.random.Generator


def paint(
    one: Specimen, deciding: tuple[str, ...], difficulty: Difficulty, streams: Streams, size_px: int
) -> tuple[UInt8[np.ndarray, "height width 3"], UInt8[np.ndarray, "height width"]]:
    """The picture, RGB 0..255, and the map of visible parts, 0 or 1 + place in PARTS."""
    draw = streams.scenery
    ground = draw.uniform(60, 190)
    posed = pose(one, difficulty, streams.animal)
    towards, away = light.sun(draw, 0.022)
    picture = cv2.resize(bed(draw, ground), (size_px, size_px))
    lying = [
        debris.thing(draw, tuple(draw.random(2)), ground)
        for _ in range(draw.integers(*difficulty.debris, endpoint=True))
    ]
    _lay(picture, lying, towards, away)
    colours = shades(hue(draw), apart(draw, ground, difficulty.contrast))
    parts = animal(picture, posed, colours, towards, away, draw, 0.025, 0.035)
    over = _covering(posed, deciding, difficulty, ground, draw)
    _lay(picture, over, towards, away)
    parts[debris.silhouette(over, size_px) > 127] = 0
    light.shine(picture, light.ripples(draw))
    light.veil(picture, colour(hue(draw), ground), draw.random((2, 2)) * draw.uniform(0, 0.3))
    if draw.random() < 0.4:
        debris.bubbles(picture, draw, int(draw.integers(1, 6)))
    blur = draw.uniform(0.2, 0.75) * size_px / 224
    return light.camera(picture, blur, difficulty.noise * draw.uniform(0.5, 1), streams.camera), parts


def animal(
    picture: np.ndarray,
    posed: Posed,
    colours: np.ndarray,
    towards: tuple,
    away: tuple,
    draw: np.random.Generator,
    softness: float,
    roundness: float,
) -> UInt8[np.ndarray, "height width"]:
    """Paint an animal with its shadow, so soft, and its roundness, so deep, in shares of the frame; gives the map of
    its parts."""
    shade, cover, parts = layers(posed, len(picture))
    light.shadow(picture, cover, away, softness, draw.uniform(0.25, 0.55))
    body = cv2.LUT(cv2.merge([mottled(shade, draw)] * 3), colours[None])
    light.multiply(body, light.relief(cover, towards, roundness))
    light.mix(picture, body, cover)
    return parts


def _lay(picture: np.ndarray, things: list[debris.Thing], towards: tuple, away: tuple) -> None:
    """Paint things with shadow and roundness."""
    if not things:
        return
    mask = debris.silhouette(things, len(picture))
    light.shadow(picture, mask, (away[0] / 2, away[1] / 2), 0.02, 0.4)
    debris.paint(picture, things)
    level = light.relief(mask, towards, 0.02)
    level[mask < 128] = 128
    light.multiply(picture, level)


def _covering(
    posed: Posed, deciding: tuple[str, ...], difficulty: Difficulty, ground: float, draw: np.random.Generator
) -> list[debris.Thing]:
    """Nothing, or one thing that hides a little of the animal and at most half of each part that decides its class."""
    if draw.random() >= difficulty.occlusion:
        return []
    parts = raster(posed)
    spots = np.argwhere(parts > 0)
    whole = np.bincount(parts.ravel(), minlength=len(PARTS) + 1)
    for _ in range(_TRIES):
        row, column = spots[draw.integers(len(spots))]
        one = debris.cover(draw, (column / len(parts), row / len(parts)), ground)
        hidden = np.bincount(parts[debris.silhouette([one], len(parts)) > 127], minlength=len(PARTS) + 1)
        few = hidden[1:].sum() <= difficulty.covered * whole[1:].sum()
        if few and all(hidden[1 + PARTS.index(part)] <= whole[1 + PARTS.index(part)] / 2 for part in deciding):
            return [one]
    return []
