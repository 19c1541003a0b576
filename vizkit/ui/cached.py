"""Models and traces shared by all sessions; keys are names and digests, never pixels or tensors."""

import threading
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.image import Box, Picture, prepare

if TYPE_CHECKING:
    from vizkit.analysis.attention_map import Query
    from vizkit.models import Loaded
    from vizkit.trace import Trace

FULL_TRACE_BYTES = 300 * 2**20


@st.cache_resource(show_spinner=False)
def device_lock() -> threading.RLock:
    """One computation at a time: more would only share the same cores or the same GPU memory."""
    return threading.RLock()


def model(source: str) -> "Loaded":
    """A model by its name in the picker. Raises ModelError with a sentence for the page."""
    path, architecture = st.session_state.get("_checkpoints", {}).get(source, (None, None))
    return _model(source, path, architecture)


@st.cache_resource(max_entries=6, show_spinner=False)
def _model(source: str, path: str | None, architecture: str | None) -> "Loaded":
    from vizkit.models import ModelError, load

    if path is not None:
        return load(path, architecture=architecture)
    if source.startswith("random:"):
        return load(source.removeprefix("random:"), pretrained=False)
    if source.startswith(("bundled:", "hf-hub:", "torchvision:")):
        return load(source)
    if "/" in source and "\\" not in source and not source.startswith((".", "/", "~")):
        return load(f"hf-hub:{source}")
    if not source.replace("_", "").replace(".", "").isalnum():
        raise ModelError("Type a timm name, or owner/name for a model on the hub.")
    return load(source)


def seen_box(source: str, picture: Picture, loaded: "Loaded") -> "Box":
    """The part of the picture that the model sees, (x0, y0, x1, y1) in its pixels."""
    return _seen_box(source, picture.digest, loaded, picture.rgb)


@st.cache_resource(max_entries=64, show_spinner=False)
def _seen_box(source: str, digest: str, _loaded: "Loaded", _rgb: np.ndarray) -> "Box":
    return prepare(_rgb, _loaded.preprocessing)[1]


def trace(source: str, picture: Picture, query: "Query") -> "Trace":
    """The trace of one image. When all weights would not fit, only the rows of `query` and of the special tokens."""
    from vizkit.models.budget import rows_within

    loaded = model(source)
    rows = rows_within(loaded, query, FULL_TRACE_BYTES)
    return _trace(source, picture.digest, rows, loaded, picture.rgb)


@st.cache_resource(max_entries=12, show_spinner=False)
def _trace(source: str, digest: str, rows: tuple[int, ...] | None, _loaded: "Loaded", _rgb: np.ndarray) -> "Trace":
    from vizkit.models import Keep
    from vizkit.models import trace as run

    with device_lock():
        return run(_loaded, _rgb, keep=Keep(rows=rows))


@st.cache_data(max_entries=32, show_spinner=False)
def browser_image(digest: str, _rgb: np.ndarray) -> str:
    """The image as the canvas loads it, at most 1,024 pixels; small pictures stay exact."""
    import base64
    import io

    from PIL import Image

    image = Image.fromarray(_rgb)
    small = max(image.size) <= 256
    image.thumbnail((1024, 1024))
    buffer = io.BytesIO()
    image.save(buffer, "PNG" if small else "JPEG", quality=90)
    return f"data:image/{'png' if small else 'jpeg'};base64,{base64.b64encode(buffer.getvalue()).decode()}"
