"""Every view as a record of settings with a function: `VIEWS` lists them, and hosts draw any of them.

    Rollout(depth=3).show(Subject(lambda: loaded, image))     # the blocks, without any host
    vizkit.show("rollout", loaded, image, depth=3)            # in a notebook
    vizkit show rollout photo.jpg --depth 3 -o rollout.png    # on the command line

A new view is one file with its class, and one line in `VIEWS`: of its page's folder, or here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vizkit.device import import_alone
from vizkit.views import (
    architecture,
    attention,
    bundled,
    compare,
    convolution,
    data_set,
    detection,
    distillation,
    evaluate,
    features,
    intervene,
    patches,
    positions,
    relevance,
    sequences,
    super_resolution,
    swin,
    train,
)
from vizkit.views.entry import Entry, Former, Reads

if TYPE_CHECKING:
    from vizkit.views.blocks import Blocks
    from vizkit.views.rollout import Rollout as Rollout
    from vizkit.views.view import View

ALIKE = "alike patches"
"""What Explore shows of the bare address, which is asked before its own module, and torch, are there."""

VIEWS = {
    each.name: each
    for each in (
        Entry(
            "Cards",
            "Where every layer and head attends, all models side by side.",
            "explore:Explore",
            answers=True,
            formerly=(
                Former("Compare in depth", "patches", "similarity-in-depth", {"block": "layer"}, {"shows": ALIKE}),
            ),
            name="explore",
        ),
        *patches.VIEWS,
        *positions.VIEWS,
        *attention.VIEWS,
        Entry(
            "Rollout",
            "Which patches contribute to one token when all layers are multiplied.",
            "rollout:Rollout",
            "transformer",
            name="rollout",
        ),
        *features.VIEWS,
        *relevance.VIEWS,
        *swin.VIEWS,
        *distillation.VIEWS,
        *convolution.VIEWS,
        *intervene.VIEWS,
        *compare.VIEWS,
        *sequences.VIEWS,
        *architecture.VIEWS,
        *super_resolution.VIEWS,
        *detection.VIEWS,
        *evaluate.VIEWS,
        *data_set.VIEWS,
        *train.VIEWS,
    )
}

FORMER = {former.name: (former, each) for each in VIEWS.values() for former in each.formerly if former.name}
"""By their names of then, views of earlier versions with what replaces them."""


def replaced(name: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the settings of what stands now for a view of an earlier version; of any other, as given."""
    if name not in FORMER:
        return name, dict(settings)
    former, now = FORMER[name]
    kept = {former.fields[field]: value for field, value in settings.items() if field in former.fields}
    return now.name, {**former.settings, **kept}


def class_of(name: str) -> "type[View]":
    """The class of a view by its name in `VIEWS`, imported now. KeyError for others."""
    module, _, cls = VIEWS[name].module.partition(":")
    return getattr(import_alone(f"vizkit.views.{module}"), cls)


def name_of(view: "View | type[View]") -> str:
    """In `VIEWS`."""
    place = where(view)
    return next(name for name, each in VIEWS.items() if each.module == place)


def where(view: "View | type[View]") -> str:
    """Its class, as an entry names it."""
    cls = view if isinstance(view, type) else type(view)
    return f"{cls.__module__.removeprefix('vizkit.views.')}:{cls.__qualname__}"


def entry(view: "View | type[View]") -> Entry:
    return VIEWS[name_of(view)]


def answers(view: "View") -> bool:
    """Whether it shows what models answer, as it is set; one that stands nowhere does not."""
    place = where(view)
    return any(each.answers for each in VIEWS.values() if each.module == place) and reads(view) != "nothing"


def meant(view: "View", of: Any) -> Any:
    """The subject that a view is of, where its settings name another model, or another step of its run."""
    of = view.meant(of)
    if view.after_step is None:
        return of
    from vizkit.views.train.after_step import then

    return then(of, view.after_step)


def content(view: "View", of: Any) -> "Blocks":
    """What a host draws of a view. Of one that shows answers the first sentence says where they mean nothing."""
    shown = view.content(of)
    if view.after_step is not None:
        from vizkit.views.train.after_step import over_training

        shown = over_training(view, of, view.after_step)
    if not answers(view):
        return shown
    from vizkit.views.settled import with_caveat

    asked = [view.answering(each) for each in (of if view.together else [of]) if each.has_model]
    return with_caveat(shown, " ".join(filter(None, (bundled.caveat(each.name, each.image) for each in asked))))


def reads(view: "View") -> Reads:
    """What it shows something of, as it is set; of both where it is in no list."""
    own = next((each for each in VIEWS.values() if each.module == where(view)), None)
    if own is None or own.only is None:
        return own.reads if own else "picture and models"
    return own.reads if (getattr(view, own.only.field) == own.only.option) is own.only.reads else "nothing"


def __getattr__(name: str) -> Any:
    """The classes by their own names, `vizkit.views.Rollout`, imported when they are used."""
    for each in VIEWS.values():
        if each.module.endswith(f":{name}"):
            return class_of(each.name)
    raise AttributeError(f"module 'vizkit.views' has no attribute {name!r}")
