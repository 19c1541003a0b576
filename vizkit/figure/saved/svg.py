"""A plate as SVG: text stays text, every cell says its value when pointed at, and the file says what it shows."""

import base64
import io
import re
from zlib import crc32

import numpy as np
from PIL import Image

from vizkit.figure.charts import literal
from vizkit.figure.saved.plate import PATTERNS, Mark, Outline, Overlay, Plate, Stroke, Words
from vizkit.figure.vector import PIXELATED, vector_overlay

FONTS = "'DejaVu Sans', Verdana, sans-serif"  # of about the same width


def svg(plate: Plate) -> str:
    """A document that is complete in itself; also valid inside an HTML page."""
    facts = "".join(f'<fact name="{_attribute(name)}">{literal(text)}</fact>' for name, text in plate.facts.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plate.width:g} {plate.height:g}" '
        f'width="{plate.width:g}pt" height="{plate.height:g}pt" role="img" font-family="{FONTS}">'
        f"<title>{literal(plate.title)}</title><desc>{literal(plate.facts.get('Description', ''))}</desc>"
        f'<metadata><facts xmlns="urn:vizkit">{facts}</facts></metadata>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{_shared("".join(map(_drawn, plate.marks)))}</svg>'
    )


def _shared(drawn: str) -> str:
    """The same with every photograph once, however many maps lie over it."""
    names: dict[str, str] = {}

    def once(found: re.Match[str]) -> str:
        image = found[0]
        if image in names:
            return f'<use href="#{names[image]}"/>'
        names[image] = f"image{crc32(image.encode())}"
        return image.replace("<image", f'<image id="{names[image]}"', 1)

    return re.sub(r"<image [^>]*>", once, drawn)


def _drawn(mark: Mark) -> str:
    if isinstance(mark, Words):
        turned = f' transform="rotate(-90 {mark.x:g} {mark.y:g})"' if mark.upright else ""
        return (
            f'<text x="{mark.x:g}" y="{mark.y:g}" font-size="{mark.size:g}" fill="{mark.colour}" '
            f'text-anchor="{mark.anchor}"{turned}>{literal(mark.text)}</text>'
        )
    if isinstance(mark, Stroke):
        parts = " ".join(f"{part:g}" for part in PATTERNS.get(mark.dash, ()))
        dashes = f' stroke-dasharray="{parts}"' if parts else ""
        points = mark.points * (2 if len(mark.points) == 1 else 1)
        way = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        return (
            f'<polyline points="{way}" fill="none" stroke="{mark.colour}" stroke-width="{mark.line:g}" '
            f'stroke-linecap="round" stroke-linejoin="round"{dashes}/>'
        )
    frame = f'x="{mark.x:.3f}" y="{mark.y:.3f}" width="{mark.width:.3f}" height="{mark.height:.3f}"'
    if isinstance(mark, Outline):
        return f'<rect {frame} fill="none" stroke="{mark.colour}" stroke-width="{mark.line:g}"/>'
    if isinstance(mark, Overlay):
        inner = vector_overlay(mark.image, mark.places, mark.box_xyxy, **mark.painted())
        height, width = mark.image.shape[:2]
        return inner.replace(f'width="{width}" height="{height}"', f'{frame} overflow="hidden"', 1)
    return f'<image {frame} preserveAspectRatio="none"{PIXELATED} href="data:image/png;base64,{_base64(mark.rgb)}"/>'


def _base64(rgb: np.ndarray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def _attribute(text: str) -> str:
    return literal(text).replace('"', "&quot;")
