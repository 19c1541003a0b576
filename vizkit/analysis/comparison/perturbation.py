"""Changes of an image that leave its class as it is, each in strengths from none to far too much.

After Hendrycks & Dietterich 2019 (arXiv 1903.12261): noise, blur and JPEG; Naseer et al. 2021 (arXiv 2105.10497), § 3:
cells covered at random and cells in another order; and moves of the whole image. All act on 8-bit pixels, before a
model's own preprocessing, and strength 0 is the image itself, bit for bit. What a move leaves empty, and what is
covered, gets the mean colour of the image.
"""

import io
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, UInt8
from PIL import Image, ImageFilter

from vizkit.image import RGB

CELLS = 14  # on a side, as a ViT of 224 pixels has patches of 16
SIDE = 224  # pixels of the shorter side to which blur and grain are scaled, so that size does not change the strength
BICUBIC = Image.Resampling.BICUBIC


@dataclass(frozen=True)
class Perturbation:
    """One kind of change. `strengths`: ascending from 0, in `unit`. `wording`: how a strength is written, behind
    "at" too, `left` being 100 minus it and `share` 100 times it. `about`: what is done, in a few words.

    `apply(rgb, strength)`: an image of the same size. `chance`: whether it takes a `seed` too.
    """

    name: str
    title: str
    unit: str
    wording: str
    strengths: tuple[float, ...]
    about: str
    apply: Callable[..., RGB]
    chance: bool = False

    def in_words(self, level: int) -> str:
        strength = self.strengths[level]
        return self.wording.format(strength, left=100 - strength, share=100 * strength) if strength else "unchanged"

    @property
    def percent(self) -> bool:
        """Whether strengths are shares."""
        return "%" in self.wording


def perturbed(rgb: RGB, kind: str, strength: float, seed: int = 0) -> RGB:
    """The image after one change. KeyError for an unknown kind, ValueError for a strength below 0."""
    if strength < 0:
        raise ValueError(f"A strength is 0 or more, not {strength}.")
    one = PERTURBATIONS[kind]
    by_chance = {"seed": seed} if one.chance else {}
    return one.apply(rgb, strength, **by_chance) if strength else rgb


def mean_colour(rgb: RGB) -> tuple[int, int, int]:
    red, green, blue = (round(float(value)) for value in rgb.mean((0, 1)))
    return red, green, blue


# ---- moves -----------------------------------------------------------------------------------------------------------
def shift(rgb: RGB, strength: float) -> RGB:
    """To the right by `strength` of the width, whole pixels; what was at the right edge is lost."""
    moved_px = min(rgb.shape[1], round(strength * rgb.shape[1]))
    out = np.empty_like(rgb)
    out[:, :moved_px] = mean_colour(rgb)
    out[:, moved_px:] = rgb[:, : rgb.shape[1] - moved_px]
    return out


def rotate(rgb: RGB, strength: float) -> RGB:
    """Counter-clockwise by `strength` degrees about the centre, bicubic; corners are cut off."""
    return np.asarray(Image.fromarray(rgb).rotate(strength, BICUBIC, fillcolor=mean_colour(rgb)))


def shrink(rgb: RGB, strength: float) -> RGB:
    """Smaller by `strength` of its sides, about the centre."""
    height, width = rgb.shape[:2]
    small_w, small_h = (max(1, round((1 - strength) * side)) for side in (width, height))
    out = Image.new("RGB", (width, height), mean_colour(rgb))
    small = Image.fromarray(rgb).resize((small_w, small_h), BICUBIC)
    out.paste(small, ((width - small_w) // 2, (height - small_h) // 2))
    return np.asarray(out)


# ---- quality ---------------------------------------------------------------------------------------------------------
def blur(rgb: RGB, strength: float) -> RGB:
    """Gaussian, σ = `strength` pixels where the shorter side has 224; Pillow's three box filters, edges repeated."""
    sigma_px = strength * min(rgb.shape[:2]) / SIDE
    return np.asarray(Image.fromarray(rgb).filter(ImageFilter.GaussianBlur(sigma_px)))


def noise(rgb: RGB, strength: float, seed: int = 0) -> RGB:
    """Independent Gaussian noise in every channel, σ = `strength` of 255, cut at 0 and 255.

    Its grains are as large as pixels are where the shorter side has 224: finer ones would vanish in large images.
    """
    height, width = rgb.shape[:2]
    grain_px = max(1, round(min(height, width) / SIDE))
    grains = (math.ceil(height / grain_px), math.ceil(width / grain_px), 3)
    drawn = np.random.default_rng(seed).standard_normal(grains, np.float32) * np.float32(255 * strength)
    spread = drawn.repeat(grain_px, 0).repeat(grain_px, 1)[:height, :width]
    return np.rint(rgb + spread).clip(0, 255).astype(np.uint8)


def jpeg(rgb: RGB, strength: float) -> RGB:
    """Saved with quality 100 − `strength` and opened again."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "JPEG", quality=max(1, round(100 - strength)))
    return np.asarray(Image.open(buffer).convert("RGB"))


# ---- cells -----------------------------------------------------------------------------------------------------------
def occlude(rgb: RGB, strength: float, seed: int = 0) -> RGB:
    """Cover `strength` of 14 × 14 cells. A stronger one covers the same cells and more."""
    covered = np.random.default_rng(seed).permutation(CELLS**2)[: round(strength * CELLS**2)]
    out, fill = rgb.copy(), mean_colour(rgb)
    down, across = (np.linspace(0, side, CELLS + 1).round().astype(int) for side in rgb.shape[:2])
    for row, column in zip(*divmod(covered, CELLS), strict=True):
        out[down[row] : down[row + 1], across[column] : across[column + 1]] = fill
    return out


def _shuffle(rgb: RGB, strength: float, seed: int = 0) -> RGB:
    """`strength` × `strength` cells in a random order."""
    side = round(strength)
    return rearranged(rgb, side, np.random.default_rng(seed).permutation(side**2))


def rearranged(rgb: RGB, side: int, order: Int[np.ndarray, " cell"]) -> RGB:
    """Cell i of `side` × `side` shows what cell `order[i]` showed. Pixels that do not fill a cell, at the right and
    lower edge, stay. ValueError where cells would be smaller than a pixel."""
    high, wide = rgb.shape[0] // side, rgb.shape[1] // side
    if not high or not wide:
        raise ValueError(f"An image of {rgb.shape[1]}×{rgb.shape[0]} pixels has no {side} × {side} cells.")
    inner = rgb[: side * high, : side * wide]
    cells: UInt8[np.ndarray, "cell high wide 3"]
    cells = inner.reshape(side, high, side, wide, 3).swapaxes(1, 2).reshape(-1, high, wide, 3)[order]
    out = rgb.copy()
    out[: side * high, : side * wide] = cells.reshape(side, side, high, wide, 3).swapaxes(1, 2).reshape(inner.shape)
    return out


PERTURBATIONS: dict[str, Perturbation] = {
    each.name: each
    for each in (
        Perturbation(
            "shift",
            "Shift",
            "of the width",
            "{share:.0f} % of the width",
            (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
            "to the right; the empty strip gets the mean colour",
            shift,
        ),
        Perturbation(
            "rotation",
            "Rotation",
            "degrees",
            "{:g}°",
            (0.0, 5.0, 15.0, 30.0, 45.0, 60.0, 90.0, 135.0, 180.0),
            "about the centre; empty corners get the mean colour",
            rotate,
        ),
        Perturbation(
            "scale",
            "Smaller",
            "off the sides",
            "{share:.0f} % off the sides",
            (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
            "about the centre, on the mean colour",
            shrink,
        ),
        Perturbation(
            "blur",
            "Blur",
            "σ in pixels at 224",
            "σ = {:g} px",
            (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0),
            "Gaussian",
            blur,
        ),
        Perturbation(
            "noise",
            "Noise",
            "σ, share of white",
            "σ = {share:.0f} %",
            (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6),
            "Gaussian, drawn once for each strength",
            noise,
            True,
        ),
        Perturbation(
            "jpeg",
            "JPEG",
            "100 − quality",
            "quality {left:g}",
            (0.0, 10.0, 30.0, 50.0, 70.0, 80.0, 90.0, 95.0, 99.0),
            "saved with this quality; 0 is not compressed at all",
            jpeg,
        ),
        Perturbation(
            "occlusion",
            "Occlusion",
            "of the cells",
            "{share:.0f} % of the cells",
            tuple(k / CELLS for k in (0, 1, 2, 4, 6, 8, 10, 12, 13)),
            "cells of 14 × 14, covered at random with the mean colour",
            occlude,
            True,
        ),
        Perturbation(
            "shuffle",
            "Patch shuffle",
            "cells on a side",
            "{0:g} × {0:g}",
            (0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 14.0),
            "cells in a random order: parts stay, the whole goes",
            _shuffle,
            True,
        ),
    )
}
LEVELS = 9
"""Strengths of every kind, the first being 0."""
