"""The overlay as SVG: the photograph below, every cell a rectangle that says its value when pointed at."""

import base64
import io

import numpy as np
from PIL import Image

from vizkit.figure.charts import literal
from vizkit.figure.overlay import under
from vizkit.figure.palette import CEILING, FLOOR, colours
from vizkit.figure.scales import OWN, Places, Scale
from vizkit.geometry import Box
from vizkit.image import RGB, Pixels, data_url

MOST_CELLS = 5_000  # with an element each; finer maps are one picture of flat cells
PHOTOGRAPH_PX = 1280
SMALL_PX = 128  # up to here pixels stay what they are: squares
PIXELATED = ' style="image-rendering: pixelated"'


def vector_overlay(
    image: RGB,
    places: Places,
    box_xyxy: Box,
    *,
    title: str = "",
    scale: Scale = OWN,
    floor: float = FLOOR,
    ceiling: float = CEILING,
) -> str:
    """An SVG document of the image's size in pixels, complete in itself; also valid inside an HTML page.

    `scale`, `floor`, `ceiling`: as for `overlay.overlay`. Outside the box the photograph is dimmed.
    """
    height, width = image.shape[:2]
    scale = scale.of(places)
    levels = scale.levels(places)
    colour, opacities = colours(scale.palette)[levels], scale.opacities(levels, floor, ceiling)
    draw = _cells if places.size <= MOST_CELLS else _raster
    x0, y0, x1, y1 = box_xyxy
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'shape-rendering="crispEdges">{f"<title>{literal(title)}</title>" if title else ""}'
        f'<image width="{width}" height="{height}" href="{data_url(under(image, ceiling), PHOTOGRAPH_PX)}"'
        f"{PIXELATED if max(width, height) <= SMALL_PX else ''}/>"
        f'<path d="M0 0H{width}V{height}H0ZM{x0:.3f} {y0:.3f}V{y1:.3f}H{x1:.3f}V{y0:.3f}Z" fill="#000" '
        f'fill-opacity="0.65" fill-rule="evenodd"/>{draw(places, colour, opacities, box_xyxy, scale)}</svg>'
    )


def _cells(
    places: Places,
    colour: Pixels,
    opacities: Places,
    box_xyxy: Box,
    scale: Scale,
) -> str:
    rows, columns = places.shape
    x0, y0, x1, y1 = box_xyxy
    cell_w, cell_h = (x1 - x0) / columns, (y1 - y0) / rows
    cells = []
    for (row, column), value in np.ndenumerate(places):
        r, g, b = (int(c) for c in colour[row, column])
        text = literal(scale.words(float(value)))
        cells.append(
            f'<rect x="{x0 + column * cell_w:.3f}" y="{y0 + row * cell_h:.3f}" width="{cell_w:.3f}" '
            f'height="{cell_h:.3f}" fill="rgb({r},{g},{b})" fill-opacity="{opacities[row, column]:.3f}">'
            f"<title>row {row + 1}, column {column + 1}: {text}</title></rect>"
        )
    return "".join(cells)


def _raster(
    places: Places,
    colour: Pixels,
    opacities: Places,
    box_xyxy: Box,
    scale: Scale,
) -> str:
    x0, y0, x1, y1 = box_xyxy
    alpha = (255 * opacities).round().astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(np.dstack([colour, alpha])).save(buffer, "PNG")
    return (
        f'<image x="{x0:.3f}" y="{y0:.3f}" width="{x1 - x0:.3f}" height="{y1 - y0:.3f}" preserveAspectRatio="none"'
        f'{PIXELATED} href="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"/>'
    )
