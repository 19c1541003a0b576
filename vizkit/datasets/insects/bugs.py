"""Grown insects of the water, seen from above: diving beetle, water strider, backswimmer and water scorpion.

Wing covers count as abdomen: they are what is seen of it.
"""

import numpy as np

from vizkit.datasets.insects.outline import hull, leaf, oval, strip
from vizkit.datasets.insects.specimen import Specimen


def diving_beetle(one: Specimen) -> None:
    """A smooth broad oval with a seam between the wing covers; hind legs are oars that point back."""
    wide = one.vary(0.3, 0.08)
    _oar(one, (0.12, 0.6), (one.draw.normal(22, 8), one.draw.normal(48, 8)), (0.26, 0.36), 0.034)
    one.leg((0.16, 0.4), (8.0, 40.0, 55.0), (0.17, 0.15, 0.1), 0.022)
    one.leg((0.14, 0.22), (-30.0, -62.0, -80.0), (0.15, 0.12, 0.08), 0.024)
    one.feelers(0.07, 0.04, one.vary(0.26, 0.15), 0.85, 0.009)
    one.body("head", [(-0.01, 0.05), (0.02, 0.1), (0.09, 0.14), (0.13, 0.13)], 0)
    one.eyes(0.115, 0.075, 0.026, 0.032)
    profile = np.array([(0.24, 0.86), (0.34, 0.95), (0.58, 1.0), (0.8, 0.78), (0.95, 0.34), (1.0, 0.0)]) * (1, wide)
    one.body("abdomen", profile, -14)
    rim = one.draw.integers(0, 60)  # pale in many diving beetles
    one.body("abdomen", profile * (1, 0.9), int(-14 - rim / 2))
    shield = [(0.1, 0.12), (0.12, wide * 0.58), (0.2, wide * 0.8), (0.265, wide * 0.88), (0.27, 0.0)]
    one.body("thorax", shield, -10)
    one.mark(strip([(0, 0.27, 0.004), (0, 0.6, 0.005), (0, 0.99, 0.003)], 2), 40)
    for side in (-1, 1):
        for x in (0.35, 0.65):
            line = [(side * wide * x * k, y) for y, k in ((0.3, 0.9), (0.55, 1.0), (0.75, 0.85), (0.9, 0.45))]
            one.mark(np.array([line]), 92, 0.004)
    one.mark(oval((-wide * 0.42, 0.42), 0.025, 0.11, -0.1, 10), 165)


def water_strider(one: Specimen) -> None:
    """A thin rod on four extremely long legs; the forelegs are short and reach forward."""
    long = one.vary(1.3, 0.1)
    hind = (one.draw.normal(34, 6), one.draw.normal(60, 6), 66.0)
    one.leg((0.05, 0.5), hind, (long * 0.62, long * 0.5, long * 0.16), 0.034)
    middle = (one.draw.normal(-16, 6), one.draw.normal(-42, 7), -30.0)
    one.leg((0.05, 0.42), middle, (long * 0.62, long * 0.52, long * 0.2), 0.034)
    one.leg((0.04, 0.16), (-52.0, -84.0, -95.0), (0.17, 0.15, 0.06), 0.032)
    one.feelers(0.03, 0.01, one.vary(0.3, 0.15), 0.5, 0.014)
    profile = [(0.44, 0.075), (0.6, 0.072), (0.85, 0.05), (1.0, 0.02)]
    one.segments("abdomen", profile, np.linspace(0.46, 1.0, 8), bulge=0.03)
    one.body("thorax", [(0.1, 0.03), (0.16, 0.055), (0.38, 0.088), (0.48, 0.082), (0.56, 0.03)], -10)
    one.stripe(0.14, 0.46, 0.012, 180)
    one.body("head", [(-0.02, 0.015), (0.02, 0.045), (0.09, 0.05), (0.12, 0.03)])
    one.eyes(0.052, 0.075, 0.026, 0.03)


def backswimmer(one: Specimen) -> None:
    """A boat with a blunt bow and a pointed stern, rowed by two long fringed oars."""
    _oar(one, (0.1, 0.46), (one.draw.normal(-14, 9), one.draw.normal(-8, 12)), (0.34, 0.52), 0.036)
    one.leg((0.1, 0.36), (35.0, 75.0), (0.17, 0.14), 0.022)
    one.leg((0.1, 0.2), (-38.0, -84.0), (0.15, 0.13), 0.022)
    wide = one.vary(0.165, 0.08)
    for side in (-1, 1):
        one.plate("abdomen", leaf((side * 0.02, 0.88), side * 0.12, 0.17, 0.035), 30, 230)
    profile = [(0.24, wide), (0.4, wide * 1.04), (0.6, wide * 0.9), (0.8, wide * 0.6), (0.94, wide * 0.28), (1.0, 0.02)]
    one.body("abdomen", profile, 8)
    for side in (-1, 1):
        seam = [(side * wide * 0.72, 0.3, 0.004), (side * wide * 0.3, 0.52, 0.006), (0, 0.7, 0.004), (0, 0.98, 0.003)]
        one.mark(strip(seam), 60)
    one.mark(hull([(0.27, 0.09), (0.31, 0.085), (0.46, 0.0)], 3), 62)
    one.body("thorax", [(0.1, 0.11), (0.13, wide * 0.92), (0.26, wide * 1.02), (0.285, 0.05)], 26)
    one.body("head", [(-0.01, 0.06), (0.01, 0.1), (0.08, 0.14), (0.12, 0.1)], 20)
    one.eyes(0.095, 0.06, 0.04, 0.052, 0.45)


def water_scorpion(one: Specimen) -> None:
    """A flat leaf of a body, forelegs that grasp like pincers, and one long breathing tube behind."""
    one.tail(one.draw.normal(0, 0.05), one.vary(0.68, 0.15), 0.02, 0.97)
    one.leg((0.1, 0.5), (34.0, 68.0, 74.0), (0.25, 0.22, 0.1), 0.02)
    one.leg((0.1, 0.38), (2.0, 38.0, 48.0), (0.23, 0.2, 0.09), 0.02)
    _pincers(one)
    wide = one.vary(0.19, 0.1)
    profile = [(0.3, wide * 0.72), (0.42, wide * 0.88), (0.64, wide), (0.85, wide * 0.7), (1.0, 0.03)]
    one.segments("abdomen", profile, np.linspace(0.34, 0.99, 6), bulge=0.04)
    one.body("abdomen", [(y, half * 0.84) for y, half in profile[:-1]] + [(0.96, 0.02)], -24)
    one.mark(strip([(-0.1, 0.4, 0.004), (0.0, 0.64, 0.005), (0.07, 0.84, 0.003)]), 60)
    one.mark(strip([(0.1, 0.4, 0.004), (0.0, 0.64, 0.005)], 2), 60)
    one.mark(hull([(0.35, 0.07), (0.38, 0.065), (0.52, 0.0)], 3), 75)
    shield = [(0.1, 0.07), (0.14, wide * 0.52), (0.28, wide * 0.7), (0.36, wide * 0.82), (0.37, 0.0)]
    one.body("thorax", shield, -8)
    one.body("head", [(-0.03, 0.012), (0.0, 0.035), (0.06, 0.06), (0.12, 0.045)])
    one.eyes(0.055, 0.06, 0.022, 0.026)


def _pincers(one: Specimen) -> None:
    """Grasping forelegs: a thick thigh reaches forward and out, the shin folds back against it."""
    for side in (-1, 1):
        out, fold = one.draw.normal(0.62, 0.12), one.draw.normal(0.75, 0.15)
        knee = np.array([side * (0.1 + 0.34 * np.sin(out)), 0.17 - 0.34 * np.cos(out)])
        middle = np.array([side * 0.1, 0.17]) * 0.55 + knee * 0.45
        one.plate("legs", strip([(side * 0.07, 0.19, 0.026), (*middle, 0.05), (*knee, 0.03)]), -4)
        turn = out - fold * 1.5
        tip = knee + 0.27 * np.array([side * np.sin(turn), -np.cos(turn)])
        bow = (knee + tip) / 2 + 0.035 * np.array([side, -0.6])
        one.plate("legs", strip([(*knee, 0.024), (*bow, 0.019), (*tip, 0.004)]), -16)


def _oar(
    one: Specimen, hip: tuple[float, float], degrees: tuple[float, float], lengths: tuple[float, float], half: float
) -> None:
    """A pair of rowing legs: a thigh, then a flat blade with a fringe on both edges."""
    for side in (-1, 1):
        first, second = np.radians(np.array(degrees) + one.draw.normal(0, 5))
        root = np.array([side * hip[0], hip[1]])
        knee = root + lengths[0] * np.array([side * np.cos(first), np.sin(first)])
        tip = knee + lengths[1] * np.array([side * np.cos(second), np.sin(second)])
        t = np.linspace(0.12, 1.0, 13)[:, None]
        at = knee + t * (tip - knee)
        back = np.pi / 2 - second  # of the blade, from straight back
        for lean in (0.65, -0.65):
            one.fringe("legs", at, np.full(len(at), side * (back + lean)), half * 2.2)
        one.plate("legs", strip([(*knee, half * 0.5), (*(knee + 0.4 * (tip - knee)), half), (*tip, half * 0.2)]), 10)
        one.plate("legs", strip([(*root, half), (*((root + knee) / 2), half * 0.9), (*knee, half * 0.55)]), -6)
