"""`vizkit.show`: any view of the app in a notebook, and its files.

shown = vizkit.show("rollout", loaded, image, depth=3)  # the last line of a cell shows it
shown.save("rollout.png")
shown.numbers["by_layer"]
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from inspect import signature
from math import nextafter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.datasets.photographs import POINTS
from vizkit.datasets.samples import image_of
from vizkit.hosts.showing import Showing, able, listed
from vizkit.image import RGB, open_image
from vizkit.views import VIEWS, Entry, class_of, reads, replaced
from vizkit.views.controls import ControlError, checked, controls, refuse_beyond, setting
from vizkit.views.subject import CENTRE, Subject, no_model, no_picture
from vizkit.views.trained import AT_HAND, trained
from vizkit.views.view import View
from vizkit.work_folder import missing

if TYPE_CHECKING:
    from vizkit.models import Loaded


MOST_MODELS = 4
NO_MODEL = "no model"  # as it is called


def show(
    name: str,
    loaded: object = None,
    image: object = None,
    *,
    at: object = None,
    edits: Sequence[object] = (),
    staged: bool = False,
    after_step: int | None = None,
    **settings: object,
) -> Showing:
    """What a view of the app shows: in a notebook it shows itself, `save` writes it, `numbers` are its arrays.

    `name`: of a view, such as "rollout"; `python -m vizkit show --list` has them all, `help(vizkit.views.Rollout)` the
    settings of one. `loaded`: a model, or a list of up to four. `image`: RGB, the path of a file, or the name of an
    image that comes with vizkit, "sample:mayfly nymph". `at`: a point (x, y) in fractions of the image, as a click
    there; else where a page opens, mostly its middle. `edits`: changes of image and model, such as "heads:3.5=0".
    `staged`: its figure and its sentence alone. `after_step`: of a run that kept its weights, as it was then, to be
    played over all its steps.

    Raises ValueError with one sentence: ControlError for a view or setting that does not exist or that this model does
    not have, NotApplicable for a view that has no meaning for it, ImageError, EditError.
    """
    name, settings = replaced(name, settings)
    entry = _entry(name)
    if entry.only and entry.only.reads and image is not None:
        settings = {entry.only.field: entry.only.option, **settings}
    view = replace(_view(entry, settings, at), staged=staged, after_step=after_step)
    bare = view.bare and loaded is None and image is None
    pictured, image_name = opened(image, entry) if "picture" in reads(view) and not bare else (no_picture(), "")
    given = partial(
        Subject, rgb=pictured, edits=[str(edit) for edit in edits], image=image_name, point=_point(at, image_name)
    )
    models = [] if bare else _models(loaded, entry)
    subjects = [given(lambda one=one: one) for one in models] or [given(no_model, model=NO_MODEL)]
    pictures = _pictures(view)
    for subject in subjects:
        subject.texts, subject.uploads = _folders(view), pictures
    if after_step is not None:
        _refuse_missing(after_step, subjects)
    able(view, subjects)
    refuse_beyond(view, subjects)
    return Showing(checked(view, subjects), subjects)


def _refuse_missing(step: int, of: Sequence[Subject]) -> None:
    """A step that none of these runs has kept."""
    from vizkit.views.train.after_step import steps

    kept = {each.name: found for each in of if (found := steps(each))}
    if not kept:
        raise ControlError("No model here is a run that kept the weights of its steps.")
    if not any(step in found for found in kept.values()):
        raise ControlError(missing(*next((name, step, found) for name, found in kept.items())))


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
        if strange in signature(Showing.save).parameters:
            raise ControlError(f"{strange!r} belongs to .save(…), which chooses what is on a figure.")
        raise ControlError(f"{entry.title} has no setting {strange!r}; {_nearest(strange, asked)}.")
    clicked: dict[str, Any] = {
        name: "patch" for name, control in asked.items() if control.kind == "query" and at is not None
    }
    return cls(**clicked | {name: setting(cls, name, _python(value)) for name, value in settings.items()})


def _folders(view: View) -> dict[str, str]:
    """Models at hand of the kinds that it chooses among: finished runs by name, and the folder that was named."""
    chosen = [getattr(view, name) for name, control in controls(view).items() if control.kind in AT_HAND]
    return {**trained(view), **{folder: folder for folder in chosen if Path(folder).is_dir()}}


def _pictures(view: View) -> dict[str, RGB]:
    """Other images that were named by their paths."""
    chosen = [getattr(view, name) for name, control in controls(view).items() if control.pictures]
    every = [path for each in chosen for path in (each if isinstance(each, tuple) else (each,))]
    return {path: open_image(path) for path in every if Path(path).is_file()}


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(name, known, n=3)
    nearest = "the nearest is" if len(near) == 1 else "the nearest are"
    return f"{nearest} {listed(near, 'and')}" if near else f"there are {listed(list(known), 'and')}"


def _python(value: Any) -> Any:
    """Of numpy's numbers Python's own, of a list a tuple, as the record holds them."""
    if isinstance(value, list | tuple):
        return tuple(map(_python, value))
    return value.item() if isinstance(value, np.generic) else value


def _point(at: object, image: str) -> tuple[float, float]:
    """Of an image, by its name. CENTRE stands for a point that nobody has chosen: one that is given there lies a hair
    beside it."""
    match at:
        case None:
            return POINTS.get(image, CENTRE)
        case [int() | float() as x, int() | float() as y] if 0 <= x <= 1 and 0 <= y <= 1:
            point = min(x, 0.9999), min(y, 0.9999)  # within its last cell
            return (nextafter(0.5, 1), 0.5) if point == CENTRE else point
        case _:
            raise ControlError(f"A point is (x, y) in fractions of the image, each from 0 to 1, not {str(at)[:60]}.")


def _models(loaded: object, entry: Entry) -> "list[Loaded]":
    if "models" not in entry.reads:
        return []
    from vizkit.models.sources.loaded import model_of

    given = list(loaded) if isinstance(loaded, list | tuple) else [] if loaded is None else [loaded]
    if not given and not entry.needs:
        return []
    if not 1 <= len(given) <= MOST_MODELS:
        raise ControlError(f"{entry.title} shows one to {MOST_MODELS} models, not {len(given)}.")
    return [*map(model_of, given)]


def opened(image: object, entry: Entry) -> tuple[RGB, str]:
    """The pixels of an image, and its name where it comes with vizkit. Raises ValueError."""
    if image is None:
        raise ControlError(f"{entry.title} shows something of an image: give one.")
    return image_of(image)
