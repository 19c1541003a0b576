"""A picture with a frame around each thing and a word on it, as saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from vizkit.figure.palette import LIGHT
from vizkit.figure.saved.text import clean, fitting, font
from vizkit.geometry import Box

__all__ = ["Frame", "Track", "boxes", "framed"]

LEAST_SIDE_PX = 480  # a smaller picture is drawn larger by whole numbers, so that words can be read
LETTERS, PADDING = 13.0, 3  # pixels of a picture LEAST_SIDE_PX large
DASH, DOT = 6.0, 4.0
DARK = "#000000"
RGB = UInt8[np.ndarray, "_row _column 3"]
Point = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """`box_xyxy`: shares of the picture. `colour`: #rrggbb. `word`: none where it is empty."""

    box_xyxy: tuple[float, float, float, float]
    colour: str
    word: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class Track:
    """A line through points (x, y), shares of the picture, with a dot at its end."""

    points: tuple[Point, ...]
    colour: str


def boxes(picture: RGB, boxes_xyxy: Sequence[Box], words: Sequence[str], colours: Sequence[str]) -> RGB:
    """Frames in `colours` (#rrggbb), the first on top; `boxes_xyxy` in pixels of the picture. The result is larger than
    a small picture, by a whole number."""
    height, width = picture.shape[:2]
    shares = [
        (float(x0) / width, float(y0) / height, float(x1) / width, float(y1) / height) for x0, y0, x1, y1 in boxes_xyxy
    ]
    return framed(picture, [Frame(*each) for each in zip(shares, colours, words, strict=True)])


def framed(picture: RGB, frames: Sequence[Frame], tracks: Sequence[Track] = ()) -> RGB:
    """The first frame on top, tracks above all, then words. The result is larger than a small picture, by a whole
    number."""
    times = max(1, -(-LEAST_SIDE_PX // max(picture.shape[:2])))
    paper = Image.fromarray(picture.repeat(times, 0).repeat(times, 1))
    pen, scale = ImageDraw.Draw(paper), max(1.0, max(paper.size) / 1000)
    width, height = paper.size
    for frame in reversed(frames):
        x0, y0, x1, y1 = (round(share * side) for share, side in zip(frame.box_xyxy, paper.size * 2, strict=True))
        corners = (x0, y0, max(x0, x1 - 1), max(y0, y1 - 1))
        if frame.dashed:
            _dashed(pen, corners, frame.colour, scale)
        else:
            pen.rectangle(corners, outline=frame.colour, width=round(2 * scale))
    for track in tracks:
        points = [(x * width, y * height) for x, y in track.points]
        if len(points) > 1:
            pen.line(points, track.colour, round(2 * scale), joint="curve")
        for x, y in points[-1:]:
            pen.ellipse((x - DOT * scale, y - DOT * scale, x + DOT * scale, y + DOT * scale), track.colour, DARK)
    for frame in reversed(frames):  # after all frames: no line crosses a word
        if word := clean(frame.word):
            _word(pen, paper.size, (frame.box_xyxy[0] * width, frame.box_xyxy[1] * height), word, frame.colour, scale)
    return np.array(paper)


def _dashed(pen: ImageDraw.ImageDraw, corners: tuple[int, int, int, int], colour: str, scale: float) -> None:
    """A frame of dashes, dark between them: it can be seen on any ground."""
    x0, y0, x1, y1 = corners
    pen.rectangle(corners, outline=DARK, width=round(2 * scale))
    for (ax, ay), (bx, by) in (((x0, y0), (x1, y0)), ((x1, y0), (x1, y1)), ((x1, y1), (x0, y1)), ((x0, y1), (x0, y0))):
        count = min(400, int(hypot(bx - ax, by - ay) / (2 * DASH * scale)) + 1)
        for dash in range(count):
            start, end = (dash / count, (dash + 0.5) / count)
            line = [(ax + (bx - ax) * share, ay + (by - ay) * share) for share in (start, end)]
            pen.line(line, colour, round(2 * scale))


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
