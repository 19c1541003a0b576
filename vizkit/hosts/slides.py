"""A view as slides: a picture of its own for every value of one field, which the view names (`View.slides`)."""

import io
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import replace

from vizkit.figure.saved.plate import Plate
from vizkit.figure.saved.png import png
from vizkit.figure.saved.svg import svg
from vizkit.views.controls import controls
from vizkit.views.subject import Subject
from vizkit.views.view import View


def slides(view: View, of: Sequence[Subject]) -> list[View]:
    """The view at every step, in order, its figure and its sentence alone; none of a view that names no such field."""
    if not view.slides:
        return []
    return [replace(view, **{view.slides: value}, staged=True) for value in controls(view)[view.slides].steps(of)]


def zipped(plates: Iterable[Plate]) -> bytes:
    """An archive of slides, each as PNG and as SVG."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, plate in enumerate(plates, 1):
            archive.writestr(f"slide_{number:02}.png", png(plate))
            archive.writestr(f"slide_{number:02}.svg", svg(plate))
    return buffer.getvalue()
