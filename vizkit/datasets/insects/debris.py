"""Things that are no insects: twigs, leaves, pebbles, threads of algae, ribbons of weed, specks and bubbles."""

from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Float, UInt8
from numpy.random import Generator

from vizkit.datasets.insects.outline import leaf, oval, smooth, strip
from vizkit.datasets.insects.palette import colour, hue
from vizkit.datasets.insects.pose import SUBPIXEL, fill, fixed
from vizkit.image import RGB

Tint = Float[np.ndarray, "3"]
Point = tuple[float, float]


class Thing(NamedTuple):
    """Outlines in frame coordinates 0..1 with their RGB colours; the first ones make its silhouette."""

    outlines: list[np.ndarray]
    colours: list[np.ndarray]
    solid: int  # how many of the outlines make the silhouette


def thing(draw: Generator, centre: Point, brightness: float) -> Thing:
    """One random thing near `centre`."""
    make = (_twig, _twig, _leaf, _leaf, _pebble, _pebble, _pebble, _thread, _speck, _speck)[draw.integers(10)]
    return make(draw, centre, hue(draw), brightness)


def cover(draw: Generator, centre: Point, brightness: float) -> Thing:
    """One random thing that may lie over an animal at `centre`."""
    make = (_ribbon, _ribbon, _leaf, _pebble, _twig)[draw.integers(5)]
    return make(draw, centre, hue(draw), brightness)


def silhouette(things: list[Thing], size_px: int) -> UInt8[np.ndarray, "height width"]:
    """255 where any of the things lies, smooth at the edges."""
    mask = np.zeros((size_px, size_px), np.uint8)
    for one in things:
        for outline in one.outlines[: one.solid]:
            cv2.fillPoly(mask, [fixed(outline, size_px)], 255, cv2.LINE_AA, SUBPIXEL)
    return mask


def paint(picture: RGB, things: list[Thing]) -> None:
    """Draw the things into the picture."""
    for one in things:
        for outline, paint in zip(one.outlines, one.colours, strict=True):
            fill(picture, outline, paint)


def bubbles(picture: RGB, draw: Generator, count: int) -> None:
    """Small air bubbles: a pale ring, a clear middle, a glint."""
    size = len(picture)
    for x, y, r in draw.random((count, 3)):
        radius = 0.008 + 0.016 * r**2
        ring = oval((x, y), radius, radius, points=14)
        before = picture.copy()
        behind = before[min(int(y * size), size - 1), min(int(x * size), size - 1)]
        glint = oval((x - radius * 0.3, y - radius * 0.35), radius * 0.22, radius * 0.22, points=8)
        fill(picture, ring, np.array([208, 220, 222]))
        fill(picture, (ring - (x, y)) * 0.78 + (x, y), behind)
        fill(picture, glint, np.array([245, 248, 248]))
        cv2.addWeighted(picture, 0.6, before, 0.4, 0, dst=picture)


def _pebble(draw: Generator, centre: Point, tint: Tint, brightness: float) -> Thing:
    radius = draw.uniform(0.02, 0.055)
    lumps = 1 + 0.16 * draw.uniform(-1, 1, (9, 1))
    knots = oval((0.0, 0.0), radius, radius * draw.uniform(0.6, 1), draw.uniform(0, 3), 9) * lumps
    stone = smooth(np.concatenate([knots, knots[:1]]), 3) + centre
    level = brightness * draw.uniform(0.75, 1.3)
    vein = strip([(*knots[0], 0.002), (*(knots[3] * 0.2), 0.003), (*knots[5], 0.001)], 2) + centre
    return Thing([stone, vein], [colour(tint, level), colour(tint, level * 1.2)], 1)


def _twig(draw: Generator, centre: Point, tint: Tint, brightness: float) -> Thing:
    turn, length, half = draw.uniform(0, np.pi), draw.uniform(0.12, 0.5), draw.uniform(0.004, 0.011)
    along = np.array([np.sin(turn), np.cos(turn)]) * length
    across = np.array([along[1], -along[0]]) * draw.uniform(-0.15, 0.15, (4, 1))
    knots = centre + np.linspace(-0.5, 0.5, 4)[:, None] * along + across
    outlines = [strip(np.column_stack([knots, half * np.array([1.0, 0.95, 0.8, 0.5])]))]
    if draw.random() < 0.5:
        fork = knots[2] + 0.3 * length * np.array([np.sin(turn + 0.7), np.cos(turn + 0.7)])
        outlines.append(
            strip([(*knots[1], half * 0.6), (*((knots[1] + fork) / 2), half * 0.5), (*fork, half * 0.2)], 2)
        )
    level = brightness * draw.uniform(0.5, 1.25)
    bark = strip(np.column_stack([knots + half * 0.3, np.full(4, half * 0.2)]))
    colours = [colour(tint, level)] * len(outlines) + [colour(tint, level * 0.75)]
    return Thing([*outlines, bark], colours, len(outlines))


def _leaf(draw: Generator, centre: Point, tint: Tint, brightness: float) -> Thing:
    turn, length = draw.uniform(0, 2 * np.pi), draw.uniform(0.1, 0.24)
    root = np.array(centre) - 0.5 * length * np.array([np.sin(turn), np.cos(turn)])
    bow = draw.uniform(-0.5, 0.5)
    blade = leaf(root.tolist(), turn, length, length * draw.uniform(0.12, 0.3), bow)
    rib = leaf(root.tolist(), turn, length * 0.95, 0.0025, bow)
    level = brightness * draw.uniform(0.65, 1.3)
    return Thing([blade, rib], [colour(tint, level), colour(tint, level * 0.72)], 1)


def _thread(draw: Generator, centre: Point, tint: Tint, brightness: float) -> Thing:
    steps = draw.normal(0, 0.09, (6, 2)) + draw.normal(0, 0.06, 2)
    knots = np.array(centre) + np.cumsum(steps, axis=0)
    line = strip(np.column_stack([knots, np.full(6, draw.uniform(0.0012, 0.003))]), 5)
    return Thing([line], [colour(tint, brightness * draw.uniform(0.6, 1.3))], 1)


def _ribbon(draw: Generator, centre: Point, tint: Tint, brightness: float) -> Thing:
    turn, half = draw.uniform(0, np.pi), draw.uniform(0.012, 0.026)
    along = np.array([np.sin(turn), np.cos(turn)])
    reach = np.linspace(-0.9, draw.uniform(0.08, 0.9), 6)[:, None]
    knots = centre + reach * along + np.array([along[1], -along[0]]) * draw.normal(0, 0.015, (6, 1))
    blade = strip(np.column_stack([knots, half * np.array([0.8, 1.0, 1.0, 0.95, 0.8, 0.15])]))
    rib = strip(np.column_stack([knots, np.full(6, 0.002)]))
    level = brightness * draw.uniform(0.7, 1.3)
    return Thing([blade, rib], [colour(tint, level), colour(tint, level * 0.8)], 1)


def _speck(draw: Generator, centre: Point, tint: Tint, brightness: float) -> Thing:
    spots = np.array(centre) + draw.normal(0, 0.07, (7, 2))
    half = np.column_stack([0.003 + 0.006 * draw.random(7), np.full(7, 0.004)])
    outlines = oval((0.0, 0.0), 1.0, 1.0, points=7) * half[:, None] + spots[:, None]
    paints = np.clip(np.outer(brightness * draw.uniform(0.5, 1.5, 7), tint), 0, 255)
    return Thing(list(outlines), list(paints), 0)
