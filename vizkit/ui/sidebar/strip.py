"""The pictures to choose from as a strip of thumbnails."""

import base64
import io
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import streamlit as st
from PIL import Image, ImageOps

from vizkit.image import Picture, Pixels
from vizkit.ui.canvas import Canvas
from vizkit.ui.session.remembered import remembered
from vizkit.views.rules import one_of

HERE = Path(__file__).parent
SIDE_PX = 64
# The samples beside one another, as `inputs.samples` lists them: to draw them takes longer than the sidebar may.
# A test compares it, and `python -m tests.ui.sidebar.test_strip` makes it anew.
SAMPLES = HERE / "samples.webp"
STRIP = Canvas("vizkit_strip", "<div role='group' aria-label='Images'></div>", HERE / "strip.css", HERE / "strip.js")


def strip(
    samples: list[str], uploads: Mapping[str, Picture], chosen: str | None, on_pick: Callable[[str], None]
) -> None:
    """Every picture, those of the visitor first; `on_pick` is given the name of the one that was clicked."""
    tiles = [
        {"name": name, "picture": small(picture.digest, picture.rgb), "place": 0} for name, picture in uploads.items()
    ]
    tiles += [{"name": name, "picture": "", "place": place} for place, name in enumerate(samples)]

    # Streamlit looks for tables in lists, and imports pandas for that: a second before the first picture.
    data = {"tiles": tuple(tiles), "chosen": chosen, "samples": _samples(), "count": len(samples)}
    STRIP(key="strip", data=data, name=(one_of([*uploads, *samples]), on_pick))


def tile(rgb: Pixels) -> Pixels:
    """The middle of a picture as a small square."""
    small = max(rgb.shape[:2]) < SIDE_PX  # pixels of a digit stay squares
    method = Image.Resampling.NEAREST if small else Image.Resampling.LANCZOS
    return np.asarray(ImageOps.fit(Image.fromarray(rgb), (SIDE_PX, SIDE_PX), method))


@st.cache_resource(show_spinner=False)
def _samples() -> str:
    return "data:image/webp;base64," + base64.b64encode(SAMPLES.read_bytes()).decode()


@remembered
def small(digest: str, _rgb: np.ndarray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(tile(_rgb)).save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
