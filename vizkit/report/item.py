"""What a saved picture shows, and everything that is needed to make it again. It is small: no pixels, no weights."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from vizkit import __version__
from vizkit.analysis.attention.fusion import Fusion
from vizkit.from_json import LATER, ReportError, read
from vizkit.image import Box, digest_of
from vizkit.views import FORMER as FORMER_VIEWS
from vizkit.views import VIEWS, class_of, name_of, reads, replaced
from vizkit.views.attention.walkthrough import WalkThrough
from vizkit.views.controls import changed
from vizkit.views.explore import Explore
from vizkit.views.rollout import Rollout
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.view import View
from vizkit.writing import name_of_file

Draw = Literal["over image", "map only", "image only"]
MOST_MODELS = 4
VIEW = "view "  # before the name of one, as the kind of an item


@dataclass(frozen=True)
class Other:
    """One more model of a picture that shows several, as `Item` has the first."""

    source: str
    model: str
    size_hw: tuple[int, int] | None = None
    classes: tuple[str, ...] = ()
    weights: str = ""


@dataclass(frozen=True)
class Item:
    """`shows`: a view as it was set. `source`: the model as `vizkit.load` or the page takes
    it, `model` as people call it; `size_hw`: its input where the whole picture was given in its own shape; `classes`:
    those that were typed. `image`: the name of the picture, "" of a view that reads none, whatever is chosen beside
    it. `link`: the page of the view and its parameters, without the server. Without a model `source` is "".

    `edits`: changes of the picture and of the model (`interventions.Changes`). `at`: where the cursor stood, in
    fractions (x, y) of the picture. `others`: further models that are shown beside the first, on the same picture.
    `only`: of small maps those that are called so, where it is a figure of them alone (`hosts.layout.Layout`).

    Filled when the picture is made (`complete`): `weights` and `pixels`, SHA-256 digests; `box_xyxy`, the part of the
    picture that the model saw.
    """

    shows: View
    source: str
    model: str
    image: str
    draw: Draw = "over image"
    size_hw: tuple[int, int] | None = None
    classes: tuple[str, ...] = ()
    link: str = ""
    version: str = __version__
    weights: str = ""
    pixels: str = ""
    box_xyxy: Box | None = None
    edits: tuple[str, ...] = field(default=(), metadata=LATER)
    at: tuple[float, float] = field(default=CENTRE, metadata=LATER)
    others: tuple[Other, ...] = field(default=(), metadata=LATER)
    only: tuple[str, ...] = field(default=(), metadata=LATER)

    def __post_init__(self) -> None:
        if "picture" not in reads(self.shows):
            for name in ("image", "pixels"):
                object.__setattr__(self, name, "")

    @property
    def kind(self) -> str:
        return f"{VIEW}{name_of(self.shows)}"

    @property
    def models(self) -> list[str]:
        """Their names."""
        return [self.model, *(other.model for other in self.others)]


def complete(item: Item, inputs: Subject) -> Item:
    """The item with what only the model and the picture tell."""
    item = replace(item, version=__version__, pixels=digest_of(inputs.original) if item.image else "")
    if not item.source:
        return item
    box = inputs.box_xyxy
    others = tuple(replace(other, weights=of.weights) for other, of in zip(item.others, inputs.beside, strict=False))
    return replace(
        item,
        weights=inputs.weights,
        others=others,
        box_xyxy=(float(box[0]), float(box[1]), float(box[2]), float(box[3])),
    )


def to_json(item: Item) -> dict[str, Any]:
    return {"kind": item.kind, **asdict(item), "shows": item.shows.record()}


def from_json(record: Any) -> Item:
    """The item of a record that `to_json` gave, through JSON. Raises ReportError for anything else."""
    record = dict(record) if isinstance(record, dict) else {}
    kind = record.get("kind")
    name = kind.removeprefix(VIEW) if isinstance(kind, str) else ""
    if isinstance(kind, str) and kind.startswith(VIEW) and (name in VIEWS or name in FORMER_VIEWS):
        shows = _rescaled(record.pop("shows", None))
        if isinstance(shows, dict):
            name, shows = replaced(name, {field: each for field, each in shows.items() if (name, field) not in GONE})
        shows = read(class_of(name), shows, "shows")
    elif isinstance(kind, str) and kind in FORMER:
        shows = FORMER[kind](record)
    else:
        raise ReportError(f"This version of vizkit saves no figure of the kind {str(kind)[:40]!r}.")
    record.pop("kind", None)
    item = read(Item, record | {"shows": shows}, "item")
    if not all(0 <= share <= 1 for share in item.at):
        raise ReportError("“at” of this report is no place of the image; use a replay.json as it was saved.")
    if len(item.others) >= MOST_MODELS:
        raise ReportError(f"A figure shows at most {MOST_MODELS} models; this one has {1 + len(item.others)}.")
    return item


def _rescaled(shows: Any) -> Any:
    """Without how maps were coloured before all had one scale."""
    if not isinstance(shows, dict) or shows.get("scale") not in FORMER_SCALES:
        return shows
    return {name: value for name, value in shows.items() if name != "scale"}


def _rollout(record: dict[str, Any]) -> Rollout:
    """Of 0.1.0, which counted the last layer as `upto`."""
    shows = record.pop("shows", None)
    if isinstance(shows, dict) and "upto" in shows:
        shows = {name: value for name, value in shows.items() if name != "upto"} | {"depth": shows["upto"]}
    return read(Rollout, _rescaled(shows), "shows")


@dataclass(frozen=True)
class _Attention:
    """Of 0.1.0, which counted heads from 0 and had the cursor in the link alone."""

    query: str | tuple[float, float] = field(default="patch", metadata=LATER)
    layer: int | None = field(default=None, metadata=LATER)
    head: int | None = field(default=None, metadata=LATER)
    shared: bool = field(default=False, metadata=LATER)
    fusion: Fusion = field(default="mean", metadata=LATER)
    by_values: bool = field(default=False, metadata=LATER)


def _attention(record: dict[str, Any]) -> Explore | WalkThrough:
    fused, was = record["kind"] == "fused heads", read(_Attention, record.pop("shows", None), "shows")
    if not isinstance(was.query, str):
        at = parse_qs(urlsplit(str(record.get("link", ""))).query).get("at", [""])[0].split(",")
        with suppress(ValueError):
            record.setdefault("at", [float(share) for share in at])
    query = was.query if isinstance(was.query, str) else "patch"
    if fused:
        return WalkThrough(layer=was.layer or 1, query=query, by_values=was.by_values)
    head = None if was.head is None else was.head + 1
    return Explore(layer=was.layer, head=head, query=query)


def _renamed(view: str, names: dict[str, str], record: dict[str, Any], **more: str) -> View:
    """The fields of a kind of 0.1.0 by their names of now; channels were counted from 0."""
    shows = record.pop("shows", None)
    given = shows if isinstance(shows, dict) else {}
    fields = {now: given[then] for then, now in names.items() if then in given}
    if isinstance(fields.get("channel"), int):
        fields["channel"] += 1
    return read(class_of(view), fields | more, "shows")


FORMER_SCALES = ("each map", "shared", "from 0", "from lowest", "one per method", "0 to 1", "to the largest")
GONE = {("enlarge", "levels"), ("teacher-gain", "images")}
"""Settings of an earlier version, by view: what they chose stands there always."""
_FILTERS = {"convolution": "layer", "channel": "channel"}
FORMER: dict[str, Callable[[dict[str, Any]], View]] = {
    "rollout": _rollout,
    "channel": partial(_renamed, "feature-maps", {**_FILTERS, "after": "after"}),
    "receptive field": partial(_renamed, "receptive-field", {"stage": "stage"}, shows="what it uses"),
    "filters": partial(_renamed, "feature-maps", _FILTERS),
    **dict.fromkeys(("attention", "features", "all heads", "fused heads"), _attention),
}
"""Kinds of earlier reports that are views now."""


def stem_of(item: Item, inputs: Subject) -> str:
    """What is in a file, as its name without the suffix: never a path, whatever the names in it are."""
    shown = name_of_file(_called(item.shows), 80)
    models = name_of_file("_".join(item.models))
    return "_".join(name for name in (models, name_of_file(item.image), shown) if name)


def _called(view: View) -> str:
    """A view by its name and what is not as usual, such as "rollout_depth3_query-patch"."""
    parts = []
    for name, value in changed(view).items():
        words = value
        if isinstance(value, tuple) and value and all(isinstance(part, int) for part in value):
            words = "row{}_column{}".format(*(part + 1 for part in value))
        elif isinstance(value, tuple):  # several options, or none of them
            words = "-".join(value) or "nothing"
        parts.append(f"{name}-{words}" if isinstance(words, str) else f"{name}{words}")
    return "_".join([name_of(view), *parts])


def written(item: Item) -> str:
    """As text in a file."""
    return json.dumps(to_json(item))
