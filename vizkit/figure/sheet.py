"""Pictures with a title each, side by side in rows, as one picture for a file."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from vizkit.image import RGB, Pixels, zoomed

GAP_PX, TITLE_PX = 12, 28


OUTLINED_PX = 480  # the least side of a picture with outlines


def sheet(pictures: Sequence[RGB], titles: Sequence[str], columns: int = 4) -> Pixels:
    """Pictures of one size, each under its title, black on white."""
    height, width = pictures[0].shape[:2]
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    out = Image.new("RGB", (columns * (width + GAP_PX) + GAP_PX, rows * (height + TITLE_PX + GAP_PX) + GAP_PX), "white")
    pen, font = ImageDraw.Draw(out), ImageFont.load_default(15)
    for i, (picture, title) in enumerate(zip(pictures, titles, strict=True)):
        x = GAP_PX + i % columns * (width + GAP_PX)
        y = GAP_PX + i // columns * (height + TITLE_PX + GAP_PX)
        pen.text((x, y + 4), fitting(title, width, font), fill="black", font=font)
        out.paste(Image.fromarray(picture), (x, y + TITLE_PX))
    return np.asarray(out)


def fitting(title: str, width: int, font: ImageFont.ImageFont | ImageFont.FreeTypeFont) -> str:
    """The title, cut where it would reach into the next picture."""
    if font.getlength(title) <= width:
        return title
    while title and font.getlength(f"{title}…") > width:
        title = title[:-1]
    return f"{title}…"


def enlarged(picture: RGB, least_px: int) -> Pixels:
    """Every pixel a square, so that the shorter side has at least `least_px`."""
    times = -(-least_px // min(picture.shape[:2]))
    return zoomed(picture, times)


def outlined(rgb: RGB, boxes: Sequence[tuple[int, int, int, int]], colours: Sequence[str]) -> Pixels:
    """Boxes (row, column, rows, columns) of its pixels, each in a colour (#rrggbb), the first on top; a picture that is
    small is enlarged first."""
    large = enlarged(rgb, OUTLINED_PX)
    times = len(large) // len(rgb)
    paper = Image.fromarray(large)
    pen = ImageDraw.Draw(paper)
    for (row, column, rows, columns), colour in reversed([*zip(boxes, colours, strict=True)]):
        corners = (column, row, column + columns, row + rows)
        left, top, right, bottom = (times * each for each in corners)
        pen.rectangle((left, top, right - 1, bottom - 1), outline=colour, width=max(2, OUTLINED_PX // 160))
    return np.array(paper)
