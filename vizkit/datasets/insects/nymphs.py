"""Young insects that look much like the adults: mayfly, stonefly, damselfly and dragonfly nymphs, seen from above."""

import numpy as np

from vizkit.datasets.insects.outline import hull, leaf
from vizkit.datasets.insects.specimen import Specimen


def mayfly(one: Specimen) -> None:
    """Seven pairs of gill plates along the abdomen and three long tails."""
    spread, length = one.vary(0.4, 0.25), one.vary(0.66, 0.15)
    for turn in (-spread, 0.0, spread):
        one.tail(turn + one.draw.normal(0, 0.04), length, 0.013, 0.97, 7)
    _six_legs(one, (0.08, 0.17, 0.26, 0.34), 0.24, 0.024)
    size = one.vary(0.19, 0.12)
    for number, y in enumerate(np.linspace(0.83, 0.42, 7)):
        one.blade("gills", (0.05, y), one.vary(1.3, 0.07), size * (1 - 0.06 * abs(3 - number)), 0.024, 24, 230)
    profile = [(0.36, 0.1), (0.5, 0.1), (0.75, 0.072), (1.0, 0.035)]
    one.segments("abdomen", profile, np.linspace(0.37, 1.0, 11))
    one.freckles(0, 6, profile, 80)
    one.body("thorax", [(0.1, 0.06), (0.16, 0.1), (0.28, 0.125), (0.38, 0.1), (0.42, 0.03)])
    one.mark(hull([(0.19, 0.0), (0.195, 0.11), (0.2, 0.0)], 3), 85)
    one.blade("wing pads", (0.06, 0.27), -0.12, one.vary(0.24, 0.12), 0.045)
    one.feelers(0.035, 0.02, one.vary(0.26, 0.2), 0.45, 0.009)
    one.body("head", [(-0.01, 0.03), (0.02, 0.07), (0.08, 0.085), (0.125, 0.06)])
    one.eyes(0.065, 0.065, 0.028, 0.036)


def stonefly(one: Specimen) -> None:
    """Two tails, two pairs of wing pads, long antennae, stout legs, and no gills on the abdomen."""
    spread = one.vary(0.38, 0.25)
    for side in (-1, 1):
        one.tail(side * spread, one.vary(0.56, 0.15), 0.018)
    one.feelers(0.06, 0.02, one.vary(0.55, 0.15), 0.55, 0.013)
    _six_legs(one, (0.11, 0.2, 0.32, 0.44), 0.31, 0.042)
    profile = [(0.46, 0.1), (0.6, 0.105), (0.85, 0.085), (1.0, 0.05)]
    one.segments("abdomen", profile, np.linspace(0.47, 1.0, 10))
    for y, size in ((0.38, 0.17), (0.26, 0.16)):
        one.body("thorax", [(y - 0.01, 0.08), (y + 0.04, 0.12), (y + 0.1, 0.1), (y + 0.13, 0.03)])
        one.blade("wing pads", (0.085, y + 0.03), one.vary(0.42, 0.2), one.vary(size, 0.1), 0.055)
    one.body("thorax", [(0.13, 0.07), (0.15, 0.125), (0.22, 0.135), (0.26, 0.1), (0.27, 0.03)], 8)
    one.stripe(0.14, 0.44, 0.012, 175)
    one.body("head", [(-0.01, 0.035), (0.02, 0.085), (0.08, 0.125), (0.12, 0.115), (0.15, 0.07)], -4)
    one.mark(hull([(0.05, 0.0), (0.07, 0.04), (0.09, 0.0)], 3), 180)
    one.eyes(0.1, 0.085, 0.024, 0.03)


def damselfly(one: Specimen) -> None:
    """A thin body that ends in three leaf-shaped gills; a head broader than the rest."""
    spread, length, half = one.vary(0.56, 0.25), one.vary(0.46, 0.12), one.vary(0.062, 0.12)
    for turn in (-spread, spread, 0.0):
        turn += one.draw.normal(0, 0.05)
        one.plate("gills", leaf((0.0, 0.965), turn, length, half, turn * 0.25), 0, 235)
        rib = [
            (t * length * np.sin(turn * (1 + 0.25 * t)), 0.965 + t * length * np.cos(turn * (1 + 0.25 * t)))
            for t in (0, 0.5, 0.92)
        ]
        one.mark(np.array([rib]), 90, 0.008)
    _six_legs(one, (0.05, 0.16, 0.22, 0.29), 0.32, 0.019)
    profile = [(0.3, 0.048), (0.45, 0.044), (0.7, 0.038), (1.0, 0.034)]
    one.segments("abdomen", profile, np.linspace(0.3, 1.0, 11), bulge=0.1)
    one.body("thorax", [(0.11, 0.03), (0.15, 0.055), (0.24, 0.07), (0.33, 0.05), (0.36, 0.02)])
    one.blade("wing pads", (0.045, 0.22), 0.02, one.vary(0.27, 0.1), 0.024)
    one.feelers(0.03, 0.01, one.vary(0.13, 0.15), 0.6, 0.009)
    one.body("head", [(-0.01, 0.03), (0.01, 0.06), (0.06, 0.1), (0.1, 0.06), (0.12, 0.03)])
    one.eyes(0.095, 0.055, 0.033, 0.04, 0.1)


def dragonfly(one: Specimen) -> None:
    """Stout: a broad oval abdomen with spines at its end, big eyes, wing pads laid back in a V, spread legs."""
    _six_legs(one, (0.14, 0.23, 0.3, 0.38), 0.37, 0.03)
    wide = one.vary(0.275, 0.1)
    for turn in (-0.3, 0.0, 0.3):
        one.plate("abdomen", leaf((0.25 * turn, 0.93), turn, 0.11, 0.026), -20)
    profile = [(0.38, wide * 0.6), (0.5, wide * 0.85), (0.68, wide), (0.85, wide * 0.78), (0.98, wide * 0.25)]
    one.segments("abdomen", profile, np.linspace(0.4, 0.98, 9), bulge=0.03)
    one.stripe(0.45, 0.95, 0.018, 90)
    one.freckles(2, 9, profile, 85)
    one.body("thorax", [(0.15, 0.09), (0.2, 0.15), (0.3, 0.185), (0.4, 0.17), (0.46, 0.05)])
    one.mark(hull([(0.225, 0.0), (0.235, 0.15), (0.245, 0.0)], 3), 85)
    for root, shade in ((0.15, 0), (0.07, 14)):
        one.blade("wing pads", (root, 0.33), one.vary(0.06, 0.5), one.vary(0.34, 0.08), 0.06, shade)
    one.feelers(0.05, 0.01, 0.09, 0.5, 0.01)
    one.body("head", [(-0.01, 0.05), (0.02, 0.11), (0.08, 0.16), (0.14, 0.14), (0.17, 0.07)])
    one.eyes(0.13, 0.065, 0.05, 0.058, 0.4)


def _six_legs(one: Specimen, where: tuple[float, float, float, float], length: float, half_width: float) -> None:
    """Walking legs at hips (x; y of the fore, middle and hind pair): forelegs reach forward, the others back."""
    x, fore, middle, hind = where
    length = one.vary(length, 0.12)
    for y, angles, share in (
        (hind, (28.0, 62.0, 70.0), 1.12),
        (middle, (4.0, 42.0, 52.0), 0.98),
        (fore, (-38.0, -66.0, -78.0), 0.86),
    ):
        reach = length * share
        one.leg((x, y), angles, (reach * 0.5, reach * 0.52, reach * 0.26), half_width)
