"""Models and traces shared by all sessions; keys are names and digests, never pixels or tensors."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import streamlit as st

from vizkit import image
from vizkit.image import Box, Picture, Preprocessing
from vizkit.ui.device import DEVICE, Device
from vizkit.ui.session import chosen, model_names
from vizkit.ui.session.chosen import Opened
from vizkit.ui.session.remembered import forget, remembered
from vizkit.views import subject

if TYPE_CHECKING:
    from collections.abc import Callable

    from vizkit.analysis.attention.attention_map import Query
    from vizkit.analysis.attention.statistics import Layer
    from vizkit.models import Keep, Loaded
    from vizkit.models.probes.parts import Parts
    from vizkit.traces import Trace

T = TypeVar("T")


def device_lock() -> Device:
    """One computation at a time: more would only share the same cores or the same GPU memory."""
    return DEVICE


def model(source: str, whole: Picture | None = None) -> "Loaded":
    """A model by its name in the picker; `whole`: made for the shape of this picture, so that nothing is cropped.

    Raises ModelError or NotApplicable with a sentence for the page.
    """
    return opening(source, whole)()


def opening(source: str, whole: Picture | None = None) -> "Callable[[], Loaded]":
    """`model`, to be called later, without a session too. It holds names, no weights."""
    name = chosen.bare(source)
    opened: Opened | None = st.session_state.get("_checkpoints", {}).get(name)
    if name.startswith("run:"):
        opened = Opened(run_folder(name))
    if name.startswith("checkpoint:") and opened is None:
        from vizkit.models import ModelError

        raise ModelError(
            f"This link shows the checkpoint {name[11:-65][:60]}, which is not here: open it in the sidebar."
        )
    own = partial(_own, name, opened)
    if own().text_tower is not None and name not in chosen.readers():
        chosen.readers().add(name)
        st.rerun()  # the sidebar asks for its classes
    if whole is not None:
        from vizkit.models.probes.shape import whole_image_size

        size_hw = whole_image_size(own(), (whole.rgb.shape[0], whole.rgb.shape[1]))
        own = partial(_whole, name, opened, size_hw)
    return own if source == name else partial(reading, own, source, chosen.classes_of(source))


def reading(own: "Callable[[], Loaded]", source: str, texts: tuple[str, ...]) -> "Loaded":
    """A model that reads text with these classes; their digest is in `source`, which it is remembered by."""
    loaded = own()
    return _with_classes(source, loaded.preprocessing, loaded, texts)


@remembered
def _with_classes(source: str, preprocessing: Preprocessing, _own: "Loaded", _texts: tuple[str, ...]) -> "Loaded":
    from vizkit.models.sources.zero_shot import with_classes

    return with_classes(_own, _texts)


def run_folder(source: str) -> str:
    """The folder of "run:<name>", which has to be one of those that the picker lists: never a path that was typed."""
    folder = model_names.trained().get(source)
    if folder is None:
        from vizkit.models import ModelError

        raise ModelError(
            f"There is no finished run {source.removeprefix('run:')[:60]!r} here; the Train page shows all."
        )
    forget_old_weights(source, folder)
    return str(folder)


@st.cache_resource(show_spinner=False)
def _weights_seen() -> dict[str, tuple[int, int]]:
    return {}


def forget_old_weights(source: str, folder: Path) -> None:
    """A run that went on, or a new one of the same name, has other weights; everything here is kept by name only."""
    facts = (folder / "model.safetensors").stat()
    now = (facts.st_mtime_ns, facts.st_size)
    if _weights_seen().setdefault(source, now) != now:
        _weights_seen()[source] = now
        forget(source)


def weights_of(source: str) -> tuple[int, int] | None:
    """What tells the weights of a run from earlier ones of its name; other sources have one set only."""
    return _weights_seen().get(source)


@remembered
def _whole(source: str, opened: Opened | None, size_hw: tuple[int, int]) -> "Loaded":
    from vizkit.models.probes.shape import see_everything

    return see_everything(fresh(source, opened, size_hw))


@remembered
def _own(source: str, opened: Opened | None) -> "Loaded":
    return fresh(source, opened, None)


def fresh(source: str, opened: Opened | None, size_hw: tuple[int, int] | None) -> "Loaded":
    from vizkit.models import load
    from vizkit.models.by_name import named

    if opened is not None:
        return load(opened.path, architecture=opened.architecture, head=opened.head, image_size=size_hw)
    loaded = named(source, size_hw)  # what a visitor types is never taken as a path of this machine
    # The sentences of the library say its name.
    return replace(loaded, name=model_names.title(source)) if source.startswith("bundled:") else loaded


def seen_box(picture: Picture, loaded: "Loaded") -> "Box":
    """The part of the picture that the model sees, (x0, y0, x1, y1) in its pixels."""
    height, width = picture.rgb.shape[:2]
    return image.seen_box((height, width), loaded.preprocessing)


def trace(source: str, loaded: "Loaded", picture: Picture, query: "Query") -> "Trace":
    """The trace of one image. When all weights would not fit, only the rows of `query` and of the special tokens, or
    the mean over heads where a row is not the same token in every layer."""
    from vizkit.models.probes.budget import keep_within

    return traced(source, loaded, picture, keep_within(loaded, query, subject.FULL_TRACE_BYTES))


def traced(source: str, loaded: "Loaded", picture: Picture, keep: "Keep") -> "Trace":
    """The same, of which `keep` is kept."""
    return _trace(source, picture.digest, loaded.preprocessing, keep, loaded, picture.rgb)


@remembered
def _trace(
    source: str,
    digest: str,
    preprocessing: Preprocessing,
    keep: "Keep",
    _loaded: "Loaded",
    _rgb: np.ndarray,
) -> "Trace":
    from vizkit.models import trace as run

    with device_lock():
        return run(_loaded, _rgb, keep=keep)


@st.cache_data(max_entries=32, show_spinner=False)
def browser_image(digest: str, _rgb: np.ndarray) -> str:
    """The image as the canvas loads it, at most 1,024 pixels; small pictures stay exact."""
    return image.data_url(_rgb)


def parts(source: str, picture: Picture, loaded: "Loaded", layer: int, token_id: int | None) -> "Parts":
    """Layer `layer` (from 0) taken apart; for Swin the window that holds the token."""
    return _parts(source, picture.digest, loaded.preprocessing, layer, token_id, loaded, picture.rgb)


@remembered
def _parts(
    source: str,
    digest: str,
    preprocessing: Preprocessing,
    layer: int,
    token_id: int | None,
    _loaded: "Loaded",
    _rgb: np.ndarray,
) -> "Parts":
    from vizkit.models import pixels_of
    from vizkit.models.probes.parts import attention_parts

    with device_lock():
        return attention_parts(_loaded, pixels_of(_loaded, _rgb), layer, token_id=token_id)


def statistics(source: str, picture: Picture, loaded: "Loaded") -> "tuple[Layer, ...]":
    return _statistics(source, picture.digest, loaded.preprocessing, loaded, picture)


@remembered
def _statistics(
    source: str, digest: str, preprocessing: Preprocessing, _loaded: "Loaded", _picture: Picture
) -> "tuple[Layer, ...]":
    from vizkit.analysis.attention.statistics import by_layer
    from vizkit.models.probes.budget import weights_bytes
    from vizkit.traces import NotApplicable

    if weights_bytes(_loaded) > subject.FULL_TRACE_BYTES:
        raise NotApplicable(
            f"All weights of {chosen.bare(source)} at this size would take more memory than is kept; choose a smaller "
            "input."
        )
    return by_layer(trace(source, _loaded, _picture, (0.5, 0.5)))


def made(source: str, picture: Picture, loaded: "Loaded", what: tuple, make: "Callable[[], T]") -> T:
    """`make()` of one model and one image, kept under the name `what`; `make` takes the lock where it runs a model."""
    return _made(source, picture.digest, loaded.preprocessing, what, make)


@remembered
def _made(source: str, digest: str, preprocessing: Preprocessing, what: tuple, _make: "Callable[[], Any]") -> Any:
    return _make()
