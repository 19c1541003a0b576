"""A picture with a frame around each thing and a word on it, as saved."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from vizkit.figure.palette import LIGHT
from vizkit.figure.saved.text import clean, fitting, font
from vizkit.geometry import Box

__all__ = ["boxes"]

LEAST_SIDE_PX = 480  # a smaller picture is drawn larger by whole numbers, so that words can be read
LETTERS, PADDING = 13.0, 3  # pixels of a picture LEAST_SIDE_PX large
RGB = UInt8[np.ndarray, "_row _column 3"]


def boxes(picture: RGB, boxes_xyxy: Sequence[Box], words: Sequence[str], colours: Sequence[str]) -> RGB:
    """Frames in `colours` (#rrggbb), the first on top; `boxes_xyxy` in pixels of the picture. The result is larger than
    a small picture, by a whole number."""
    times = max(1, -(-LEAST_SIDE_PX // max(picture.shape[:2])))
    paper = Image.fromarray(picture.repeat(times, 0).repeat(times, 1))
    pen, scale = ImageDraw.Draw(paper), max(1.0, max(paper.size) / 1000)
    each = list(zip(boxes_xyxy, words, colours, strict=True))[::-1]
    for box, _, colour in each:
        corners = tuple(round(side * times) for side in box)
        last = (corners[0], corners[1], max(corners[0], corners[2] - 1), max(corners[1], corners[3] - 1))
        pen.rectangle(last, outline=colour, width=round(2 * scale))
    for box, word, colour in each:  # after all frames: no line crosses a word
        _word(pen, paper.size, (box[0] * times, box[1] * times), clean(word), colour, scale)
    return np.array(paper)


def _word(
    pen: ImageDraw.ImageDraw, size: tuple[int, int], corner: tuple[float, float], word: str, colour: str, scale: float
) -> None:
    """Above the frame's upper left corner, inside the picture."""
    letters, padding = LETTERS * scale, PADDING * scale
    word = fitting(word, letters, size[0] - 2 * padding)
    width, height = font(letters).getlength(word) + 2 * padding, letters + 2 * padding
    x = min(max(0.0, corner[0]), max(0.0, size[0] - width))
    y = max(0.0, corner[1] - height)
    pen.rectangle((x, y, x + width, y + height), fill=colour)
    pen.text((x + padding, y + height / 2), word, LIGHT, font(letters), "lm")
