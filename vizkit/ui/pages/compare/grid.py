"""A row for each image, a cell for each model: one component, so that 32 cells are one element of the page."""

from pathlib import Path
from typing import Any

from vizkit.image import Picture
from vizkit.ui.canvas import Canvas
from vizkit.ui.pages.compare import images
from vizkit.views.rules import one_of

HERE = Path(__file__).parent
GRID = Canvas("vizkit_compare", "<section></section>\n", HERE / "grid.css", HERE / "grid.js")


def grid(key: str, models: list[str], rows: list[dict[str, Any]], focus: str) -> None:
    """`rows`: of each image its name, picture, lines of text and cells, see `cell`. Without models the images are a
    strip. A click on an image makes it the sidebar's; `focus` is the one that is now."""
    data = {"models": models, "rows": rows, "focus": focus}
    GRID(key, data, pick=(one_of([row["name"] for row in rows]), images.choose))


def strip(key: str, pictures: dict[str, Picture], focus: str) -> None:
    """Thumbnails to choose one image of."""
    grid(key, [], [image_of(name, picture) for name, picture in pictures.items()], focus)


def image_of(name: str, picture: Picture) -> dict[str, Any]:
    height, width = picture.rgb.shape[:2]
    return {"name": name, "image": images.thumbnail(picture.digest, picture), "size": (width, height)}


def cell(
    box_xyxy: tuple[float, float, float, float], picture: Picture, bars: list[dict[str, Any]], mark: str, why: str
) -> dict[str, Any]:
    """`bars`: name, share from 0 to 1 or text of a value, colour and `right`, of each class. `mark`: the
    letter of this answer."""
    height, width = picture.rgb.shape[:2]
    x0, y0, x1, y1 = box_xyxy
    box = (max(0, x0 / width), max(0, y0 / height), min(1, x1 / width), min(1, y1 / height))
    return {"box": box, "bars": bars, "mark": mark, "why": why}
