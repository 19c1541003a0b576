"""A plate as PNG: at least twice as many pixels as points, 300 an inch in print; its text says what it shows."""

import io
from math import ceil

import numpy as np
from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from vizkit.figure.overlay import overlay
from vizkit.figure.saved.plate import Outline, Overlay, Plate, Raster, Stroke, Words, font
from vizkit.figure.vector import SMALL_PX

MOST_TIMES = 4  # pixels a point, where the photograph has them
COMPRESSION = 3  # half of the time of zlib's usual 6, for files that are a tenth larger


def png(plate: Plate) -> bytes:
    """The bytes of the file. The same plate always gives the same."""
    times = _times(plate)
    paper = Image.new("RGB", (round(plate.width * times), round(plate.height * times)), "white")
    pen = ImageDraw.Draw(paper)
    for mark in plate.marks:
        if isinstance(mark, Words):
            place = (mark.x * times, mark.y * times)
            anchor = {"start": "ls", "middle": "ms", "end": "rs"}[mark.anchor]
            if mark.upright:
                _upright(paper, mark, times)
            else:
                pen.text(place, mark.text, mark.colour, font(mark.size * times), anchor)
        elif isinstance(mark, Outline):
            _outline(pen, mark, times)
        elif isinstance(mark, Stroke):
            _stroke(pen, mark, times)
        else:
            x, y = round(mark.x * times), round(mark.y * times)
            right, lower = round((mark.x + mark.width) * times), round((mark.y + mark.height) * times)
            size = (max(1, right - x), max(1, lower - y))
            paper.paste(_pixels(mark, size), (x, y))
    buffer = io.BytesIO()
    paper.save(buffer, "PNG", compress_level=COMPRESSION, pnginfo=_written(plate), dpi=(72 * times, 72 * times))
    return buffer.getvalue()


def _upright(paper: Image.Image, mark: Words, times: float) -> None:
    letters = font(mark.size * times)
    long, tall = ceil(letters.getlength(mark.text)), ceil(2 * mark.size * times)
    line = Image.new("L", (long, tall))
    ImageDraw.Draw(line).text((0, tall // 2), mark.text, 255, letters, "ls")
    turned = line.rotate(90, expand=True)
    paper.paste(mark.colour, (round(mark.x * times) - tall // 2, round(mark.y * times) - long), turned)


def _times(plate: Plate) -> float:
    """Pixels a point."""
    own = (mark.image.shape[1] / mark.width for mark in plate.marks if isinstance(mark, Overlay))
    return float(max(plate.least_dpi / 72, min(MOST_TIMES, np.ceil(max(own, default=0.0)))))


def _pixels(mark: Raster | Overlay, size: tuple[int, int]) -> Image.Image:
    """The mark in so many pixels, (width, height)."""
    if isinstance(mark, Raster):
        return Image.fromarray(mark.rgb).resize(size, Image.Resampling.NEAREST)
    height, width = mark.image.shape[:2]
    method = Image.Resampling.NEAREST if max(width, height) <= SMALL_PX else Image.Resampling.LANCZOS
    image = np.asarray(Image.fromarray(mark.image).resize(size, method))
    across, down = size[0] / width, size[1] / height
    x0, y0, x1, y1 = mark.box_xyxy
    box = (x0 * across, y0 * down, x1 * across, y1 * down)
    return Image.fromarray(overlay(image, mark.places, box, **mark.painted()))


def _outline(pen: ImageDraw.ImageDraw, mark: Outline, times: float) -> None:
    """Centred on its edge, as in SVG."""
    half = mark.line * times / 2
    x0, y0 = mark.x * times - half, mark.y * times - half
    x1, y1 = (mark.x + mark.width) * times + half, (mark.y + mark.height) * times + half
    pen.rectangle((round(x0), round(y0), round(x1), round(y1)), outline=mark.colour, width=max(1, round(2 * half)))


def _stroke(pen: ImageDraw.ImageDraw, mark: Stroke, times: float) -> None:
    half = mark.line * times / 2
    for piece in mark.pieces():
        places = [(x * times, y * times) for x, y in piece]
        pen.line(places, mark.colour, max(1, round(2 * half)), joint="curve")
        for x, y in (places[0], places[-1]):  # round ends, as in SVG
            pen.ellipse((x - half, y - half, x + half, y + half), mark.colour)


def _written(plate: Plate) -> PngInfo:
    text = PngInfo()
    for name, value in {"Title": plate.title, **plate.facts}.items():
        text.add_itxt(name, value)
    return text
