"""`vizkit.show`: any view of the app in a notebook, and its files.

shown = vizkit.show("rollout", loaded, image, depth=3)  # the last line of a cell shows it
shown.save("rollout.png")
shown.numbers["by_layer"]
"""

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from vizkit import __version__
from vizkit.image import RGB, digest_of, open_image
from vizkit.traces import NotApplicable
from vizkit.views import VIEWS, Entry, class_of, name_of
from vizkit.views.blocks import Block, Heading, Line, Map, Numbers, Said, flat
from vizkit.views.controls import ControlError, checked, controls
from vizkit.views.subject import CENTRE, Subject, no_model, no_picture
from vizkit.views.view import View
from vizkit.writing import write

__all__ = ["MOST_MODELS", "SUFFIXES", "Showing", "opened", "show"]

MOST_MODELS = 4
SUFFIXES = (".png", ".svg", ".html", ".npz")
SAMPLE = "sample:"  # before the name of a picture that comes with vizkit, so that it hides no file
NOT_RGB = "The image has to be 8-bit RGB, (height, width, 3), as vizkit.open_image gives it."


class Showing:
    """A view with what it shows of its subjects. `blocks`: all of them, of several models one after another, each below
    its name; `numbers`: the arrays that are saved, of several models with "_1", "_2" after their names."""

    def __init__(self, view: View, subjects: Sequence[Subject]) -> None:
        self.view, self.subjects = view, tuple(subjects)
        self._columns = _columns(view, self.subjects)

    @cached_property
    def blocks(self) -> list[Block]:
        named = len(self._columns) > 1
        headings = [[Heading(of.name)] if named else [] for of in self.subjects]
        return [block for above, column in zip(headings, self._flat, strict=False) for block in (*above, *column)]

    @cached_property
    def _flat(self) -> list[list[Block]]:
        """Of each model, or of all at once."""
        return [list(flat(column)) for column in self._columns]

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        several = len(self._flat) > 1
        return {
            f"{name}_{number}" if several else name: values
            for number, column in enumerate(self._flat, 1)
            for name, values in _merged(column).items()
        }

    @property
    def said(self) -> str:
        """What is to be seen, in a sentence; "" where nothing stands out."""
        return next(filter(None, map(_sentence, self.blocks)), "")

    @property
    def meta(self) -> dict[str, Any]:
        """What the arrays are of, as it is saved beside them."""
        models = [of for of in self.subjects if VIEWS[name_of(self.view)].reads != "picture"]
        return {
            "view": name_of(self.view),
            "settings": asdict(self.view),
            "models": [{"name": of.name, "source": of.loaded.source} for of in models],
            "picture": digest_of(self.subjects[0].original),
            "point": self.subjects[0].point,
            "edits": self.subjects[0].edits,
            "vizkit": __version__,
        }

    def save(self, path: str | os.PathLike) -> None:
        """As a picture (.png, .svg), a page that needs no server (.html), or numbers with what they are of in `meta`,
        as JSON (.npz). Raises ValueError for other endings, OSError where the file cannot be written."""
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{path} cannot be written: give a name that ends in {_listed(SUFFIXES, 'or')}.")
        write(path, {".npz": self._npz, ".html": self._html}.get(suffix, lambda: self._picture(suffix))())

    def _npz(self) -> bytes:
        content = io.BytesIO()
        meta = np.array(json.dumps(self.meta, ensure_ascii=False))
        np.savez(content, allow_pickle=False, meta=meta, **self.numbers)  # pyright: ignore[reportArgumentType]
        return content.getvalue()

    def _picture(self, suffix: str) -> bytes | str:
        from vizkit.figure.saved.png import png
        from vizkit.figure.saved.svg import svg
        from vizkit.hosts.paper import plate

        return (png if suffix == ".png" else svg)(plate(self.view, self.subjects))

    def _html(self) -> str:
        from vizkit.hosts.page import document

        return document(self.view, self.subjects)

    def _repr_html_(self) -> str:
        """What a notebook shows; of what is too large for that, a sentence."""
        from vizkit.hosts.page import fragment

        try:
            return fragment(self.view, self.subjects)
        except ValueError as sentence:
            return f"<p>{escape(str(sentence))}</p>"

    def __repr__(self) -> str:
        title = self.view.title(self.subjects if self.view.together else self.subjects[0])
        return f"{title}. {self.said}".strip()


def show(
    name: str,
    loaded: Any = None,  # noqa: ANN401 - whatever somebody gives is answered by a sentence
    image: Any = None,  # noqa: ANN401
    *,
    at: tuple[float, float] | None = None,
    edits: Sequence[Any] = (),
    **settings: Any,  # noqa: ANN401
) -> Showing:
    """What a view of the app shows: in a notebook it shows itself, `save` writes it, `numbers` are its arrays.

    `name`: of a view, such as "rollout"; `python -m vizkit show --list` has them all, `help(vizkit.views.Rollout)` the
    settings of one. `loaded`: a model, or a list of up to four. `image`: RGB, the path of a file, or the name of a
    picture that comes with vizkit, "sample:mayfly nymph". `at`: a point (x, y) in fractions of the picture, as a click
    there; else its middle. `edits`: changes of picture and model, such as "heads:3.5=0".

    Raises ValueError with one sentence: ControlError for a view or setting that does not exist or that this model does
    not have, NotApplicable for a view that has no meaning for it, ImageError, EditError.
    """
    entry = _entry(name)
    view = _view(entry, settings, at)
    pictured, image_name = opened(image, entry) if "picture" in entry.reads else (no_picture(), "")
    opening = [lambda one=one: one for one in _models(loaded, entry)] or [no_model]
    texts = [str(edit) for edit in edits]
    subjects = [Subject(each, pictured, texts, image=image_name, point=_point(at)) for each in opening]
    return Showing(checked(view, subjects), subjects)


# ---- what somebody gives ---------------------------------------------------------------------------------------------
def _entry(name: str) -> Entry:
    if name in VIEWS:
        return VIEWS[name]
    raise ControlError(f"There is no view {str(name)[:60]!r}; {_nearest(str(name), VIEWS)}.")


def _view(entry: Entry, settings: Mapping[str, Any], at: object) -> View:
    """Not yet checked with the subjects. A point that is given is asked, as one that is clicked on."""
    cls = class_of(entry.name)
    asked = controls(cls)
    if strange := next((name for name in settings if name not in asked), None):
        raise ControlError(f"{entry.title} has no setting {strange!r}; {_nearest(strange, asked)}.")
    clicked = {name: "patch" for name, control in asked.items() if control.kind == "query" and at is not None}
    return cls(**clicked | {name: _python(value) for name, value in settings.items()})


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(name, known, n=3)
    nearest = "the nearest is" if len(near) == 1 else "the nearest are"
    return f"{nearest} {_listed(near, 'and')}" if near else f"there are {_listed(list(known), 'and')}"


def _listed(names: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _python(value: Any) -> Any:  # noqa: ANN401
    """Of numpy's numbers Python's own, of a list a tuple, as the record holds them."""
    if isinstance(value, list | tuple):
        return tuple(map(_python, value))
    return value.item() if isinstance(value, np.generic) else value


def _point(at: Any) -> tuple[float, float]:  # noqa: ANN401
    try:
        x, y = CENTRE if at is None else map(float, at)
    except (TypeError, ValueError):
        x = y = -1.0
    if not (0 <= x <= 1 and 0 <= y <= 1):
        raise ControlError(f"A point is (x, y) in fractions of the picture, each from 0 to 1, not {str(at)[:60]}.")
    return min(x, 0.9999), min(y, 0.9999)  # within its last cell


def _models(loaded: Any, entry: Entry) -> list[Any]:  # noqa: ANN401
    if "models" not in entry.reads:
        return []
    from vizkit.models import Loaded

    given = list(loaded) if isinstance(loaded, list | tuple) else [] if loaded is None else [loaded]
    if not 1 <= len(given) <= MOST_MODELS:
        raise ControlError(f"{entry.title} shows one to {MOST_MODELS} models, not {len(given)}.")
    if any(not isinstance(each, Loaded) for each in given):
        raise ControlError("A model has to be what vizkit.load or vizkit.wrap gives.")
    return given


def opened(image: Any, entry: Entry) -> tuple[RGB, str]:  # noqa: ANN401
    """The pixels of an image, and its name where it comes with vizkit. Raises ValueError."""
    from vizkit.datasets import samples

    if image is None:
        raise ControlError(f"{entry.title} shows something of a picture: give one.")
    if isinstance(image, str | os.PathLike):
        name = str(image).removeprefix(SAMPLE) if str(image).startswith(SAMPLE) else ""
        if name and name not in samples.names():
            near = _nearest(name, dict.fromkeys(samples.names()))
            raise ControlError(f"No picture that comes with vizkit is called {name[:60]!r}; {near}.")
        return (samples.picture(name), name) if name else (open_image(image), "")
    rgb = np.asarray(image)
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or 0 in rgb.shape:
        raise ControlError(NOT_RGB)
    return np.ascontiguousarray(rgb), ""


# ---- what is shown of it ---------------------------------------------------------------------------------------------
def _columns(view: View, subjects: Sequence[Subject]) -> list[list[Block]]:
    """The blocks of each subject, or of all at once. NotApplicable where it has no meaning for any; for one of several
    the sentence stands in its place."""
    if view.together:
        return [list(view.show(subjects))]
    columns: list[list[Block]] = []
    refused: list[NotApplicable] = []
    for of in subjects:
        try:
            columns.append(list(view.show(of)))
        except NotApplicable as sentence:
            refused.append(sentence)
            columns.append([Line(str(sentence))])
    if len(refused) == len(subjects):
        raise refused[0]
    return columns


def _sentence(block: Block) -> str:
    return block.text if isinstance(block, Said) else block.said if isinstance(block, Map) else ""


def _merged(blocks: Sequence[Block]) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for block in blocks:
        found |= block.make() if isinstance(block, Numbers) else {}
    return found
