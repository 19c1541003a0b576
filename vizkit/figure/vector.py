"""The overlay as SVG: the photograph as it is, every cell a rectangle that says its value when pointed at."""

import base64
import io

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from vizkit.figure.overlay import painting
from vizkit.figure.palette import SCALE, colours
from vizkit.geometry import Box


def vector_overlay(
    image: UInt8[np.ndarray, "height width 3"],
    places: Float[np.ndarray, "row column"],
    box_xyxy: Box,
    *,
    title: str = "",
    top: float | None = None,
    unit: str = "%",
    scale: str = SCALE,
) -> str:
    """An SVG document of the image's size in pixels, complete in itself; also valid inside an HTML page.

    `top`, `scale`: as for `overlay.overlay`. `unit`: how a cell says its value, "%" as a share, "" as a number.
    """
    height, width = image.shape[:2]
    rows, columns = places.shape
    x0, y0, x1, y1 = box_xyxy
    cell_w, cell_h = (x1 - x0) / columns, (y1 - y0) / rows
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    photograph = base64.b64encode(buffer.getvalue()).decode()
    levels, opacities = painting(places, float(places.max()) if top is None else top, scale=scale)
    cells = []
    for (row, column), value in np.ndenumerate(places):
        r, g, b = (int(c) for c in colours(scale)[levels[row, column]])
        text = f"{value:.3%}" if unit == "%" else f"{value:.4g}"
        cells.append(
            f'<rect x="{x0 + column * cell_w:.3f}" y="{y0 + row * cell_h:.3f}" width="{cell_w:.3f}" '
            f'height="{cell_h:.3f}" fill="rgb({r},{g},{b})" fill-opacity="{opacities[row, column]:.3f}">'
            f"<title>row {row + 1}, column {column + 1}: {text}</title></rect>"
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'shape-rendering="crispEdges"><title>{escaped(title)}</title>'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{photograph}"/>{"".join(cells)}</svg>'
    )


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
