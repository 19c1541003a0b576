"""Young insects that look nothing like the adults: caddisfly, mosquito, midge and alderfly larvae."""

import numpy as np

from vizkit.datasets.insects.outline import hull, leaf, oval, strip, thread
from vizkit.datasets.insects.specimen import Specimen


def caddisfly(one: Specimen) -> None:
    """A tube of grains or of plant pieces; the head, the plates behind it and six legs look out in front."""
    one.bend = one.draw.normal(0, 0.3)
    for y, angles, share in (
        (0.2, (-22.0, -58.0, -70.0), 1.1),
        (0.15, (-40.0, -74.0, -84.0), 1.0),
        (0.1, (-58.0, -96.0, -110.0), 0.75),
    ):
        one.leg((0.05, y), angles, (0.12 * share, 0.11 * share, 0.06 * share), 0.019)
    one.body("thorax", [(0.08, 0.05), (0.13, 0.075), (0.2, 0.09), (0.3, 0.08)], 16)
    one.body("thorax", [(0.09, 0.055), (0.12, 0.075), (0.155, 0.07), (0.16, 0.0)], -30)
    one.body("head", [(-0.01, 0.02), (0.01, 0.045), (0.06, 0.06), (0.1, 0.045)], -30)
    one.eyes(0.045, 0.045, 0.012, 0.016)
    mouth, end = one.vary(0.145, 0.1), one.vary(0.1, 0.15)
    profile = [(0.22, mouth), (0.6, (mouth + end) / 2 + 0.008), (1.0, end)]
    one.body("case", [*profile[:-1], (0.98, end), (1.02, end * 0.6)], -40)
    (_grains, _logs, _panels)[one.draw.integers(3)](one, mouth, end)
    one.mark(hull([(0.205, mouth * 0.5), (0.225, mouth * 0.92), (0.24, mouth * 0.5)], 3), 30)


def _grains(one: Specimen, mouth: float, end: float) -> None:
    """Mineral grains side by side, rounded and of all shades."""
    for y in np.arange(0.98, 0.22, -0.072):
        half = np.interp(y, [0.2, 1], [mouth, end])
        for x in np.array([-0.75, -0.25, 0.25, 0.75]) + one.draw.uniform(-0.12, 0.12):
            size = one.draw.uniform(0.036, 0.052)
            spot = (x * half * 0.98, y + one.draw.uniform(-0.02, 0.02))
            turn = one.draw.uniform(0, 3)
            grain = oval(spot, size, size * one.draw.uniform(0.7, 1), turn, 7)
            one.plate("case", grain, int(one.draw.integers(-70, 71)))


def _logs(one: Specimen, mouth: float, end: float) -> None:
    """Stalks laid crosswise, as a log cabin; their ends stick out."""
    for y in np.arange(0.98, 0.23, -0.052):
        half = np.interp(y, [0.2, 1], [mouth, end]) * one.draw.uniform(0.95, 1.5)
        tilt, off = one.draw.normal(0, 0.03), one.draw.normal(0, 0.02)
        stalk = [(off - half, y - tilt, 0.021), (off, y, 0.026), (off + half, y + tilt, 0.02)]
        one.plate("case", strip(stalk, 2), int(one.draw.integers(-60, 60)))


def _panels(one: Specimen, mouth: float, end: float) -> None:
    """Bits of leaf laid along the tube like roof tiles."""
    for y in np.arange(0.92, 0.2, -0.1):
        half = np.interp(y, [0.2, 1], [mouth, end])
        for x in (-0.62, 0.62, 0.0):
            root = ((x + one.draw.normal(0, 0.08)) * half, y - 0.06)
            blade = leaf(root, one.draw.normal(0.25 * x, 0.15), one.draw.uniform(0.15, 0.21), 0.062)
            one.plate("case", blade, int(one.draw.integers(-60, 60)))


def mosquito(one: Specimen) -> None:
    """No legs: a round head with brushes, the thorax broadest of all, a beaded abdomen and a siphon at an angle."""
    one.bend = one.draw.choice((-1, 1)) * one.draw.uniform(0.2, 0.8)
    side = 1 if one.bend > 0 else -1
    _siphon(one, side)
    profile = [(0.34, 0.07), (0.5, 0.064), (0.75, 0.06), (0.95, 0.05), (1.0, 0.04)]
    for y in np.linspace(0.42, 0.86, 6):
        _tufts(one, "abdomen", (0.055, float(y)), 0.07, 2)
    one.segments("abdomen", profile, np.linspace(0.35, 1.0, 9), bulge=0.22)
    for y in (0.2, 0.27, 0.33):
        _tufts(one, "thorax", (0.14, y), 0.12, 3)
    one.body("thorax", [(0.13, 0.05), (0.17, 0.14), (0.25, 0.18), (0.33, 0.15), (0.38, 0.05)], -4)
    one.mark(hull([(0.17, 0.0), (0.25, 0.05), (0.33, 0.0)], 3), 96)
    one.body("head", [(-0.02, 0.045), (0.01, 0.085), (0.07, 0.105), (0.12, 0.08), (0.15, 0.04)], 4)
    brush = np.linspace(-0.75, 0.75, 8)
    for at in (-0.045, 0.045):
        roots = np.stack([at + 0.03 * brush, np.full(8, -0.005)], 1)
        one.fringe("head", roots, np.pi - brush * 0.8, 0.085)
    one.feelers(0.075, 0.02, 0.12, 0.7, 0.008)
    one.eyes(0.08, 0.075, 0.024, 0.026)


def _siphon(one: Specimen, side: int) -> None:
    """The breathing tube leans to one side, the last segment with its bristles and gills to the other."""
    for number in range(5):
        one.plate("tails", thread((0.0, 0.99), -side * (0.75 + 0.16 * (number - 2)), 0.17, 0.005, 0.0), 10, 220)
    for turn in (-0.35, 0.0, 0.35):
        one.plate("gills", leaf((-side * 0.03, 0.98), turn - side * 0.55, 0.13, 0.024), 20, 235)
    lean = side * one.vary(0.78, 0.25)
    tip = (0.32 * np.sin(lean), 0.93 + 0.32 * np.cos(lean))
    middle = (0.15 * np.sin(lean), 0.93 + 0.15 * np.cos(lean))
    one.plate("tails", strip([(0, 0.91, 0.042), (*middle, 0.044), (*tip, 0.024)]), -55)


def _tufts(one: Specimen, part: str, root: tuple[float, float], length: float, count: int) -> None:
    """Hairs on both flanks."""
    for side in (-1, 1):
        turns = side * (np.pi / 2 + np.linspace(-0.4, 0.3, count))
        one.fringe(part, np.tile((side * root[0], root[1]), (count, 1)), turns, length)


def midge(one: Specimen) -> None:
    """No legs: a ringed worm, bent to a C or an S, a small head, stub feet at both ends."""
    sign = one.draw.choice((-1, 1))
    if one.draw.random() < 0.5:
        one.bend, one.wave = sign * one.draw.uniform(2.0, 3.6), 0.0
    else:
        one.bend, one.wave = sign * one.draw.uniform(0.2, 0.6), sign * one.draw.uniform(0.9, 1.4)
    half = one.vary(0.055, 0.12)
    for side in (-1, 1):
        one.plate("abdomen", thread((side * 0.02, 0.97), side * 0.5, 0.1, 0.03, 0.0), 10)
        foot = [(side * 0.02, 0.11, 0.024), (side * 0.05, 0.085, 0.022), (side * 0.075, 0.055, 0.014)]
        one.plate("thorax", strip(foot, 2), 12)
        one.plate("abdomen", thread((side * 0.018, 0.955), side * 0.95, 0.06, 0.012, 0.3), 40)
    profile = [(0.06, half * 0.75), (0.16, half), (0.6, half), (0.9, half * 0.86), (1.0, half * 0.6)]
    one.segments("abdomen", profile, np.linspace(0.27, 1.0, 10), bulge=0.1)
    one.segments("thorax", profile, np.linspace(0.07, 0.28, 4), 8, 0.2)
    gut = one.draw.uniform(0.25, 0.4)
    one.mark(hull([(0.2, 0.006), (0.5, half * gut), (0.94, 0.008)], 5), 92)
    one.body("head", [(-0.02, 0.018), (0.0, 0.038), (0.05, 0.05), (0.09, 0.04)], -45)
    one.feelers(0.02, -0.01, 0.035, 0.5, 0.007)
    one.eyes(0.03, 0.035, 0.009, 0.012)


def alderfly(one: Specimen) -> None:
    """Feathery filaments along the abdomen, which runs out into one feathery tail; strong jaws."""
    one.tail(one.draw.normal(0, 0.1), one.vary(0.46, 0.12), 0.026, 0.96, 15)
    for y, angles, share in (
        (0.37, (24.0, 58.0, 66.0), 1.08),
        (0.28, (2.0, 38.0, 48.0), 1.0),
        (0.18, (-34.0, -60.0, -70.0), 0.92),
    ):
        one.leg((0.07, y), angles, (0.13 * share, 0.13 * share, 0.06 * share), 0.024)
    for y in np.linspace(0.9, 0.48, 7):
        _feather(one, float(y), one.vary(0.31, 0.1) * (1.15 - 0.3 * y))
    profile = [(0.42, 0.1), (0.55, 0.1), (0.8, 0.07), (1.0, 0.03)]
    one.segments("abdomen", profile, np.linspace(0.43, 1.0, 10))
    one.freckles(0, 6, profile, 85)
    for front, half in ((0.34, 0.098), (0.25, 0.095), (0.13, 0.088)):
        shield = [(front, half * 0.7), (front + 0.03, half), (front + 0.08, half), (front + 0.12, half * 0.6)]
        one.body("thorax", shield)
    for side in (-1, 1):
        jaw = [(side * 0.05, 0.0, 0.02), (side * 0.06, -0.055, 0.015), (side * 0.015, -0.085, 0.003)]
        one.plate("head", strip(jaw), -50)
    one.feelers(0.06, 0.02, 0.12, 0.75, 0.009)
    one.body("head", [(-0.01, 0.05), (0.02, 0.085), (0.09, 0.095), (0.14, 0.065)], -14)
    one.eyes(0.082, 0.045, 0.018, 0.022)


def _feather(one: Specimen, y: float, length: float) -> None:
    """A pair of jointed gills with a fringe, swept back."""
    for side in (-1, 1):
        turn, curl = side * one.draw.normal(1.3, 0.12), -side * one.draw.uniform(0.3, 0.8)
        t = np.linspace(0.3, 0.95, 5)
        now = turn + curl * t
        roots = np.stack([side * 0.06 + t * length * np.sin(now), y + t * length * np.cos(now)], 1)
        for lean in (0.7, -0.7):
            one.fringe("gills", roots, now + lean, length * 0.15)
        one.plate("gills", thread((side * 0.06, y), turn, length, 0.017, curl), 10)
