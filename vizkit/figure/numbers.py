"""A table of numbers as a small picture: blue below zero, white at zero, red above."""

import numpy as np
from jaxtyping import Float

from vizkit.figure.palette import SIGNED, colours
from vizkit.figure.scales import Places
from vizkit.image import RGB


def limit_of(values: Places) -> float:
    """The number of the strongest colour: 99 of 100 magnitudes lie below it, so that a few do not pale all others."""
    return float(np.quantile(np.abs(values), 0.99)) or float(np.abs(values).max(initial=0)) or 1.0


def numbers(values: Places, *, most_px: tuple[int, int] = (220, 560)) -> RGB:
    """One flat rectangle for each number; where they are more than pixels, the number of largest magnitude of a block.

    `most_px`: the largest height and width of the picture.
    """
    level = np.round(127.5 + 127.5 * np.clip(strongest(values, most_px) / limit_of(values), -1, 1)).astype(np.uint8)
    tall, wide = (max(1, most // count) for most, count in zip(most_px, level.shape, strict=True))
    return colours(SIGNED)[level].repeat(tall, 0).repeat(wide, 1)


def strongest(values: Places, most: tuple[int, int]) -> Float[np.ndarray, "row2 column2"]:
    """At most so many rows and columns: of a block of neighbours the number of largest magnitude stays."""
    down, across = (-(-count // limit) for count, limit in zip(values.shape, most, strict=True))
    rows, columns = -(-values.shape[0] // down), -(-values.shape[1] // across)
    padded = np.zeros((rows * down, columns * across), values.dtype)
    padded[: values.shape[0], : values.shape[1]] = values
    blocks = padded.reshape(rows, down, columns, across).transpose(0, 2, 1, 3).reshape(rows, columns, -1)
    return np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)[..., 0]


def squares(values: Places, side_px: int = 240) -> RGB:
    """The same with a square for each number, or for as many neighbours downwards as across; `side_px`: the longer
    side, at most."""
    most = max(values.shape)
    zoom, together = max(1, side_px // most), -(-most // side_px)
    rows, columns = (-(-count // together) * zoom for count in values.shape)
    return numbers(values, most_px=(rows, columns))
