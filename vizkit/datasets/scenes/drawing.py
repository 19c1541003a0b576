"""Scenes of none to five drawn insects whose boxes and masks are known to the pixel, for models that find things.

The insects are those of `datasets.insects`, each with its own pose, size, hue and light, on one bed: they may lie over
one another and be cut by the border. A box is the smallest rectangle around what is seen of an insect, as in COCO.
"""

from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from vizkit.datasets.insects import DIFFICULTIES, LABELS, SPLITS, debris, light, refuse
from vizkit.datasets.insects.ground import bed
from vizkit.datasets.insects.painting import layers
from vizkit.datasets.insects.palette import apart, colour, hue, shades
from vizkit.datasets.insects.pose import Posed, pose
from vizkit.datasets.insects.scene import animal
from vizkit.datasets.insects.species import SPECIES
from vizkit.datasets.insects.specimen import Specimen
from vizkit.datasets.scenes.annotated import Annotated

MOST = 5  # insects of a scene; as many scenes hold none as hold five
SIZES_PX = (64, 1024)
EXTENT = (0.3, 0.54)  # longer side of an insect, as a share of the frame
BEYOND = 0.15  # how far the middle of an insect may lie outside the frame's inner square, as a share of its extent
SEEN = 0.55  # of an insect's pixels that have to stay visible, else it is laid elsewhere
TRIES = 12
_STREAM = 21  # apart from the streams of single insects


class Scene(Annotated):
    """A square picture and every insect of it, the lowest first; boxes are around what is seen."""

    instances: UInt8[np.ndarray, "height width"]


class _Laid(NamedTuple):
    label: int
    posed: Posed
    own: np.random.Generator  # what is left of its own random numbers


def draw_scene(index: int, *, split: str = "train", seed: int = 0, size_px: int = 160) -> Scene:
    """Scene `index` (0, 1, …) of a split, `size_px` (64..1024) pixels wide. It depends on nothing but the arguments;
    another `size_px` shows the same scene in other pixels. ValueError for arguments out of range."""
    refuse(index, split, seed)
    if not SIZES_PX[0] <= size_px <= SIZES_PX[1]:
        raise ValueError(f"expected a size of {SIZES_PX[0]} to {SIZES_PX[1]} pixels, found {size_px}")
    key = [seed, SPLITS.index(split), index, _STREAM]
    draw = np.random.default_rng([*key, 0])
    ground = draw.uniform(60, 190)
    towards, away = light.sun(draw, 0.011)
    picture = cv2.resize(bed(draw, ground), (size_px, size_px), interpolation=cv2.INTER_LINEAR)
    things = [debris.thing(draw, tuple(draw.random(2)), ground) for _ in range(draw.integers(0, 4))]
    if things:
        debris.paint(picture, things)
    instances = np.zeros((size_px, size_px), np.uint8)
    laid = _laid(draw, key)
    for place, (_, posed, own) in enumerate(laid, 1):
        colours = shades(hue(own), apart(own, ground, DIFFICULTIES["easy"].contrast))
        instances[animal(picture, posed, colours, towards, away, own, 0.012, 0.018) > 0] = place
    light.shine(picture, light.ripples(draw))
    light.veil(picture, colour(hue(draw), ground), draw.random((2, 2)) * draw.uniform(0, 0.2))
    picture = light.camera(
        picture, draw.uniform(0.2, 0.6) * size_px / 224, draw.uniform(1, 4), np.random.default_rng([*key, 1])
    )
    return Scene(picture, boxes_of(instances, len(laid)), np.array([each.label for each in laid], np.int64), instances)


def boxes_of(instances: UInt8[np.ndarray, "height width"], count: int) -> Float[np.ndarray, "insect 4"]:
    """The smallest box around each number 1, 2, … `count` of a map. ValueError for a number that is not in it."""
    boxes = np.zeros((count, 4))
    for place in range(count):
        rows, columns = np.nonzero(instances == place + 1)
        if not len(rows):
            raise ValueError(f"expected every number to {count} in the map, found no {place + 1}")
        boxes[place] = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
    return boxes


COARSE = 96  # pixels; where insects may lie is judged on this grid, whatever the size of the picture


def _laid(draw: np.random.Generator, key: list[int]) -> list[_Laid]:
    """Insects, each where enough of it and of those below stays to be seen."""
    laid: list[_Laid] = []
    whole: list[int] = []
    seen = np.zeros((COARSE, COARSE), np.uint8)
    for number in range(int(draw.integers(0, MOST, endpoint=True))):
        own = np.random.default_rng([*key, 2 + number])
        label = int(own.integers(len(LABELS)))
        specimen = Specimen(own)
        SPECIES[LABELS[label]](specimen)
        at_home = pose(specimen, DIFFICULTIES["easy"], own)
        for _ in range(TRIES):
            posed = _placed(at_home, own)
            parts = layers(posed, COARSE)[2] > 0
            tried = seen.copy()
            tried[parts] = len(laid) + 1
            size = int((layers(_centred(posed), COARSE)[2] > 0).sum())
            shares = np.bincount(tried.ravel(), minlength=len(laid) + 2)[1:] / [*whole, max(1, size)]
            if shares.min() >= SEEN:
                seen = tried
                whole.append(max(1, size))
                laid.append(_Laid(label, posed, own))
                break
    return laid


def _placed(home: Posed, draw: np.random.Generator) -> Posed:
    """Any way round, smaller, with its middle in the frame or a little outside."""
    low, high = home.points.min(0), home.points.max(0)
    size = draw.uniform(*EXTENT)
    scale = size / float((high - low).max())
    turn = draw.uniform(0, 2 * np.pi)
    cos, sin = np.cos(turn), np.sin(turn)
    reach = size * (0.5 - BEYOND)
    centre = draw.uniform(reach, 1 - reach, 2)
    points = (home.points - (low + high) / 2) @ np.array([[cos, sin], [-sin, cos]]) * scale + centre
    return Posed(home.pieces, points, home.scale * scale)


def _centred(posed: Posed) -> Posed:
    """The same in the middle of the frame, so that nothing of it is cut off."""
    low, high = posed.points.min(0), posed.points.max(0)
    return Posed(posed.pieces, posed.points - (low + high) / 2 + 0.5, posed.scale)
