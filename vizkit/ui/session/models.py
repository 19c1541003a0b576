"""Models shared by all sessions, by their names in the picker."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.device import DEVICE
from vizkit.image import Picture, Preprocessing
from vizkit.ui.session import chosen, model_names
from vizkit.ui.session.chosen import Opened
from vizkit.ui.session.remembered import forget, remembered

if TYPE_CHECKING:
    from collections.abc import Callable

    from vizkit.models import Loaded


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


def opening_after(source: str, size_hw: tuple[int, int] | None) -> "Callable[[], Loaded]":
    """Of a run after a step, "run:<name>@512", without opening it. `size_hw`: of its input where that is not usual."""
    opened = Opened(run_folder(source))
    return partial(_own, source, opened) if size_hw is None else partial(_whole, source, opened, size_hw)


def reading(own: "Callable[[], Loaded]", source: str, texts: tuple[str, ...]) -> "Loaded":
    """A model that reads text with these classes; their digest is in `source`, which it is remembered by."""
    loaded = own()
    return _with_classes(source, loaded.preprocessing, loaded, texts)


@remembered
def _with_classes(source: str, preprocessing: Preprocessing, _own: "Loaded", _texts: tuple[str, ...]) -> "Loaded":
    from vizkit.models.sources.zero_shot import with_classes

    return with_classes(_own, _texts)


def run_folder(source: str) -> str:
    """What `vizkit.load` opens of "run:<name>", perhaps after a step of it; the run has to be one of those that the
    picker lists: never a path that was typed."""
    found = model_names.opened_of(source)
    if found is None:
        from vizkit.models import ModelError

        raise ModelError(
            f"There is no finished run {source.removeprefix('run:')[:60]!r} here; the Train page shows all."
        )
    forget_old_weights(source, found[1])
    return found[0]


@st.cache_resource(show_spinner=False)
def _weights_seen() -> dict[str, tuple[int, int]]:
    return {}


def forget_old_weights(source: str, file: Path) -> None:
    """A run that went on, or a new one of the same name, has other weights; everything here is kept by name only."""
    if not file.is_file():
        return  # opening it says so
    facts = file.stat()
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

    with DEVICE.laid_down():  # a download may take minutes
        if opened is not None:
            stated = opened if size_hw is None else opened._replace(image_size=size_hw)
            return load(stated.path, **{name: value for name, value in stated._asdict().items() if name != "path"})
        loaded = named(source, size_hw)  # what a visitor types is never taken as a path of this machine
    # The sentences of the library say its name.
    return replace(loaded, name=model_names.title(source)) if source.startswith("bundled:") else loaded
