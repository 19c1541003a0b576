"""Kernels that were designed by hand, 3 × 3 to 7 × 7: what a first layer had to do before it was learned.

Sobel & Feldman 1968 (larger ones: binomial smoothing × its difference); the others as in Gonzalez & Woods, § 3.5–3.6.
"""

from collections.abc import Callable
from math import comb

import numpy as np
from jaxtyping import Float

Square = Float[np.ndarray, "f f2"]


def _binomial(f: int) -> Float[np.ndarray, " f"]:
    return np.array([comb(f - 1, k) for k in range(f)], float)


def _slope(f: int) -> Float[np.ndarray, " f"]:
    """A difference, smoothed: −1 0 1 for three, −1 −2 0 2 1 for five."""
    return np.convolve(_binomial(f - 2), [-1.0, 0.0, 1.0])


def centre(f: int) -> Square:
    out = np.zeros((f, f))
    out[f // 2, f // 2] = 1
    return out


def blur(f: int) -> Square:
    return np.full((f, f), 1 / f**2)


def gaussian(f: int) -> Square:
    return np.outer(_binomial(f), _binomial(f)) / 4 ** (f - 1)


def edges(f: int) -> Square:
    """Every neighbour against the middle; the weights sum to 0."""
    return f**2 * centre(f) - 1


def vertical_edges(f: int) -> Square:
    return np.outer(_binomial(f), _slope(f))


def horizontal_edges(f: int) -> Square:
    return vertical_edges(f).T


def sharpen(f: int) -> Square:
    """The image, and what a blur would take from it once more: for 3 × 3 five in the middle, −1 at its sides."""
    if f == 3:
        return np.array([[0.0, -1, 0], [-1, 5, -1], [0, -1, 0]])
    return 2 * centre(f) - gaussian(f)


def emboss(f: int) -> Square:
    """Lit from the top left: −2 to 2 along the diagonal for 3 × 3, and the image itself."""
    at = np.arange(f) - f // 2
    return (at[:, None] + at[None, :]).astype(float) + centre(f)


KERNELS: dict[str, Callable[[int], Square]] = {
    "edges": edges,
    "vertical edges": vertical_edges,
    "horizontal edges": horizontal_edges,
    "blur": blur,
    "Gaussian blur": gaussian,
    "sharpen": sharpen,
    "emboss": emboss,
    "identity": centre,
}
