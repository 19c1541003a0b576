"""Natural colours, drawn for animal, ground and debris alike, so that no colour belongs to a class."""

import numpy as np
from jaxtyping import Float, UInt8

__all__ = ["apart", "colour", "hue", "shades"]

_LUMA = np.array([0.299, 0.587, 0.114])
HUES = np.array(
    [
        (1.25, 0.98, 0.7),  # brown
        (1.02, 1.05, 0.65),  # olive
        (1.0, 1.0, 1.0),  # grey
        (1.35, 0.97, 0.5),  # amber
        (0.84, 1.1, 0.7),  # green
        (1.35, 0.88, 0.72),  # reddish
        (0.85, 1.02, 1.15),  # bluish grey
        (1.15, 1.02, 0.85),  # sand
    ]
)
HUES /= (HUES @ _LUMA)[:, None]


def hue(draw: np.random.Generator) -> Float[np.ndarray, "3"]:
    """A natural hue: RGB factors whose brightness is 1."""
    first, second, strong, weak, grey = draw.random(5).tolist()
    mixed = (0.4 + 0.5 * strong) * HUES[int(first * len(HUES))] + 0.4 * weak * HUES[int(second * len(HUES))]
    mixed += 0.1 + 0.5 * grey
    return mixed / (mixed @ _LUMA)


def colour(tint: Float[np.ndarray, "3"], brightness: float) -> Float[np.ndarray, "3"]:
    """RGB 0..255 of a hue at a brightness 0..255."""
    return np.minimum(np.maximum(tint * brightness, 0), 255)


def apart(draw: np.random.Generator, ground: float, contrast: float) -> float:
    """A brightness, 28..215, for the animal: where there is room, at least `contrast` from the ground's."""
    below, above = max(ground - contrast - 28, 0.0), max(215 - ground - contrast, 0.0)
    at = draw.uniform(0, max(below + above, 1.0))
    return 28 + at if at < below else ground + contrast + at - below


def shades(tint: Float[np.ndarray, "3"], brightness: float) -> UInt8[np.ndarray, "256 3"]:
    """The animal's own colours from its darkest shade (0) over `brightness` (128) to its palest (255)."""
    level = np.arange(256)[:, None]
    dark = np.clip(level / 128, 0, 1) ** 0.9
    pale = np.clip((level - 128) / 127, 0, 1)
    middle = tint * brightness * (0.16 + 0.84 * dark)
    return np.clip(middle + pale * 0.62 * (np.array([252, 246, 228]) - middle), 0, 255).astype(np.uint8)
