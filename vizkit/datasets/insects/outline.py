"""Outlines in body lengths: x to the animal's right, y from the front of the head (0) to the end of the abdomen (1)."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, "point 2"]


def smooth(knots: Sequence | np.ndarray, steps: int = 4) -> Float[np.ndarray, "point column"]:
    """A curve through all `knots`, shape (knot, column), with `steps` points per span (Catmull and Rom's spline)."""
    knots = np.asarray(knots, dtype=float)
    matrix = _spline(len(knots), steps)
    return matrix[: len(matrix) // 2] @ knots


@cache
def _spline(knots: int, steps: int) -> Float[np.ndarray, "row knot"]:
    """What takes knots to the points of their curve (first half of the rows) and to its directions there (the rest)."""
    t = np.arange(steps)[:, None] / steps
    span = np.hstack([-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2]) / 2
    each = np.eye(knots)
    padded = np.concatenate([2 * each[:1] - each[1:2], each, 2 * each[-1:] - each[-2:-1]])
    spans = padded[np.arange(knots - 1)[:, None] + np.arange(4)]
    points = np.concatenate([(span @ spans).reshape(-1, knots), each[-1:]])
    return np.concatenate([points, points[1:2] - points[:1], points[2:] - points[:-2], points[-1:] - points[-2:-1]])


def hull(profile: Sequence | np.ndarray, steps: int = 4) -> Points:
    """A body that is the same on both sides, from its half widths: rows (y, half width) from front to back."""
    return hulls(np.asarray(profile, dtype=float)[None], steps)[0]


def hulls(profiles: Float[np.ndarray, "body row 2"], steps: int) -> Float[np.ndarray, "body point 2"]:
    """`hull` of many bodies at once."""
    matrix = _spline(profiles.shape[1], steps)
    right = (matrix[: len(matrix) // 2] @ profiles)[..., ::-1]
    np.maximum(right[..., 0], 0, out=right[..., 0])
    return np.concatenate([right, right[:, ::-1] * (-1, 1)], axis=1)


def strip(axis: Sequence | np.ndarray, steps: int = 3) -> Points:
    """A limb or filament along a bent axis: rows (x, y, half width) from root to tip."""
    return strips(np.asarray(axis, dtype=float)[None], steps)[0]


def strips(axes: Float[np.ndarray, "limb row 3"], steps: int = 3) -> Float[np.ndarray, "limb point 2"]:
    """`strip` of many limbs at once."""
    both = _spline(axes.shape[1], steps) @ axes
    count = both.shape[1] // 2
    curve, along = both[:, :count], both[:, count:]
    half = np.maximum(curve[..., 2], 0) / (np.hypot(along[..., 0], along[..., 1]) + 1e-9)
    across = along[..., 1::-1] * half[..., None]
    across[..., 0] *= -1
    middle = curve[..., :2]
    return np.concatenate([middle + across, (middle - across)[:, ::-1]], axis=1)


def oval(centre: Sequence[float], half_width: float, half_length: float, turn: float = 0.0, points: int = 18) -> Points:
    """An ellipse whose long side lies along y, turned by `turn` radians from y towards x."""
    circle = _circle(points) * (half_width, half_length)
    cos, sin = np.cos(turn), np.sin(turn)
    return circle @ np.array([[cos, -sin], [sin, cos]]) + centre


@cache
def _circle(points: int) -> Points:
    turn = np.arange(points) * (2 * np.pi / points)
    return np.stack([np.sin(turn), np.cos(turn)], 1)


def leaf(root: Sequence[float], turn: float, length: float, half_width: float, bow: float = 0.0) -> Points:
    """A pointed blade that starts at `root` and leaves it `turn` radians from straight back, bowed by `bow` radians."""
    x, y = root
    axis = []
    for along, half in ((0, 0.25), (0.25, 0.8), (0.55, 1.0), (0.82, 0.62), (1, 0.0)):
        now = turn + bow * along
        axis.append((x + along * length * np.sin(now), y + along * length * np.cos(now), half * half_width))
    return strip(axis)


def thread(root: Sequence[float], turn: float, length: float, half_width: float, curl: float = 0.4) -> Points:
    """A soft filament that leaves `root` `turn` radians from straight back and curls by `curl` radians."""
    t = np.linspace(0, 1, 4)
    now = turn + curl * t
    x, y = root[0] + t * length * np.sin(now), root[1] + t * length * np.cos(now)
    return strip(np.stack([x, y, half_width * (1 - 0.7 * t)], 1))
