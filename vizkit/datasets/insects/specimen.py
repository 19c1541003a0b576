"""One animal as a list of painted pieces, back to front, before it is bent, turned and put into a picture."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vizkit.datasets.insects.outline import hull, hulls, leaf, oval, smooth, strip, strips

PARTS = ("head", "thorax", "abdomen", "legs", "tails", "gills", "wing pads", "case", "antennae")
# Shades of the animal's own colour: 0 its darkest, 128 the colour itself, 255 its palest.
SHADES = {
    "head": 112,
    "thorax": 122,
    "abdomen": 132,
    "legs": 124,
    "tails": 128,
    "gills": 168,
    "wing pads": 92,
    "case": 128,
    "antennae": 128,
}
_TAPER = ((0.75, 1.0, 0.6), (0.5, 0.6, 0.4), (0.38, 0.34, 0.15))  # of thigh, shin and foot, along each


class Piece(NamedTuple):
    """A filled outline, or strands drawn as lines.

    `part` is 1 + its place in PARTS, 0 for a marking that lies on whatever part is below. `width` is 0 for a filled
    outline, else the width of the lines in body lengths. `cover` is the opacity, 0..255.
    """

    part: int
    points: np.ndarray  # (point, 2) or (strand, point, 2)
    shade: int
    width: float
    cover: int


class Specimen:
    """Collects pieces, the topmost last. `bend` and `wave` say how the axis of the body curves, in radians."""

    def __init__(self, draw: np.random.Generator) -> None:
        self.draw = draw
        self.pieces: list[Piece] = []
        self.bend = draw.normal(0, 0.22)
        self.wave = draw.normal(0, 0.06)
        self._tint = {part: int(draw.integers(-14, 15)) for part in PARTS}

    def vary(self, value: float, share: float) -> float:
        """`value`, at most `share` of it more or less."""
        return value * (1 + share * self.draw.uniform(-1, 1))

    def plate(self, part: str, points: np.ndarray, shade: int = 0, cover: int = 255) -> None:
        """A filled outline; `shade` is added to the usual one of its part."""
        self.strands(part, points, 0.0, shade, cover)

    def body(self, part: str, profile: Sequence | np.ndarray, shade: int = 0) -> None:
        """A plate that is the same on both sides, by the rows of `hull`."""
        self.plate(part, hull(profile), shade)

    def strands(self, part: str, points: np.ndarray, width: float, shade: int, cover: int) -> None:
        """Lines, (strand, point, 2), that belong to a part: hairs and fringes."""
        level = SHADES[part] + self._tint[part] + shade
        self.pieces.append(Piece(PARTS.index(part) + 1, points, min(max(level, 0), 255), width, cover))

    def mark(self, points: np.ndarray, shade: int, width: float = 0.0) -> None:
        """A marking with the given shade: an outline, or with a width, lines."""
        self.pieces.append(Piece(0, points, min(max(shade, 0), 255), width, 255))

    def segments(
        self, part: str, profile: Sequence, cuts: Sequence | np.ndarray, shade: int = 0, bulge: float = 0.06
    ) -> None:
        """A ringed body: one plate between each two `cuts` (y, front to back), the hinder tucked under the fore one."""
        y, half = smooth(profile, 6).T
        front, back = np.asarray(cuts)[:-1], np.asarray(cuts)[1:]
        high = back - front
        at = np.stack([front - 0.15 * high, front + 0.3 * high, back - 0.2 * high, back + 0.12 * high], 1)
        wide = np.interp(at, y, half) * (0.93, 1 + bulge, 1 + bulge, 0.9)
        rings = hulls(np.stack([at, wide], 2), 3)
        for number in reversed(range(len(rings))):
            self.plate(part, rings[number], shade + (6 if number % 2 else -6))

    def stripe(self, front: float, back: float, half_width: float, shade: int) -> None:
        """A band along the middle of the back."""
        middle = ((front + back) / 2, half_width)
        self.mark(hull([(front, half_width * 0.6), middle, (back, half_width * 0.3)], 3), shade)

    def freckles(self, fewest: int, end: int, profile: Sequence, shade: int) -> None:
        """Pairs of spots, `fewest` to less than `end`, on the back, inside the outline of rows (y, half width)."""
        count = int(self.draw.integers(fewest, end))
        y, half = np.asarray(profile, dtype=float).T
        for at in self.draw.uniform(y[0], y[-1], count):
            x = np.interp(at, y, half) * self.draw.uniform(0.2, 0.75)
            r = np.interp(at, y, half) * self.draw.uniform(0.1, 0.22)
            for side in (-1, 1):
                self.mark(oval((side * x, at), r, r * 1.3, points=8), shade)

    def eyes(self, x: float, y: float, half_width: float, half_length: float, turn: float = 0.25) -> None:
        """Two dark eyes with a glint; they belong to the head."""
        for side in (-1, 1):
            points = oval((side * x, y), half_width, half_length, -side * turn, 12)
            self.plate("head", points, 18 - SHADES["head"] - self._tint["head"])
            glint = (side * x - 0.25 * half_width, y - 0.3 * half_length)
            self.mark(oval(glint, half_width * 0.22, half_length * 0.18, points=6), 120)

    def leg(self, hip: Sequence[float], angles: Sequence[float], lengths: Sequence[float], width: float) -> None:
        """A pair of legs: thigh, shin and foot.

        `angles` in degrees say where each points: 0 straight out from the body, −90 forward, 90 back. `width` is the
        half width of the thigh. Each side is posed a little by itself.
        """
        axes = []
        for side in (-1, 1):
            sway = self.draw.normal(0, 7)
            x, y = side * hip[0], hip[1]
            for joint, (angle, length) in enumerate(zip(angles, lengths, strict=True)):
                turn = math.radians(angle + sway + self.draw.normal(0, 5))
                out, back = length * (side * math.cos(turn)), length * math.sin(turn)
                root, middle, end = _TAPER[joint]
                axes.append([(x, y, root), (x + 0.45 * out, y + 0.45 * back, middle), (x + out, y + back, end)])
                x, y = x + out, y + back
        limbs = strips(np.array(axes) * (1, 1, width), 2)
        for number, limb in enumerate(limbs):
            self.plate("legs", limb, -8 * (number % len(lengths)))

    def feelers(self, x: float, y: float, length: float, spread: float, half_width: float) -> None:
        """Two antennae that leave (±x, y) forward, `spread` radians apart from the axis, and curve outwards."""
        for side in (-1, 1):
            turn, curl = spread * self.draw.uniform(0.75, 1.25), self.draw.uniform(0.1, 0.7)
            t = np.array([0, 0.35, 0.7, 1])
            out, back = x + t * length * np.sin(turn + curl * t), y - t * length * np.cos(turn + curl * t)
            self.plate("antennae", strip(np.stack([side * out, back, half_width * (1 - 0.75 * t)], 1)))

    def tail(self, turn: float, length: float, half_width: float, root: float = 0.98, hairs: int = 0) -> None:
        """A filament from the end of the body, `turn` radians from straight back, with `hairs` on each side."""
        curl = turn * 0.3 + self.draw.normal(0, 0.12)
        t = np.linspace(0, 1, 5)
        x, y = t * length * np.sin(turn + curl * t), root + t * length * np.cos(turn + curl * t)
        self.plate("tails", strip(np.stack([x, y, half_width * (1 - 0.8 * t)], 1)))
        if hairs:
            along = np.linspace(0.12, 0.92, hairs)
            at = np.stack([np.interp(along, t, x), np.interp(along, t, y)], 1)
            turns = np.repeat([turn + 0.75, turn - 0.75], hairs)
            self.fringe("tails", np.concatenate([at, at]), turns, half_width * 4.2)

    def fringe(self, part: str, roots: np.ndarray, turns: np.ndarray, length: float) -> None:
        """Hairs from `roots`, (hair, 2), each `turns` radians from straight back."""
        tips = roots + length * np.stack([np.sin(turns), np.cos(turns)], 1)
        self.strands(part, np.stack([roots, tips], 1), 0.004, 18, 200)

    def blade(
        self,
        part: str,
        root: Sequence[float],
        turn: float,
        length: float,
        half_width: float,
        shade: int = 0,
        cover: int = 255,
    ) -> None:
        """A pair of leaf-shaped plates, `turn` radians outwards from straight back."""
        for side in (-1, 1):
            now = side * (turn + self.draw.normal(0, 0.08))
            self.plate(part, leaf((side * root[0], root[1]), now, length, half_width), shade, cover)
