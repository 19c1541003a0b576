"""What a saved picture shows, and everything that is needed to make it again. It is small: no pixels, no weights."""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from vizkit import __version__
from vizkit.from_json import LATER, ReportError, read
from vizkit.image import digest_of
from vizkit.report.kinds import KINDS, Shows
from vizkit.views.subject import Subject
from vizkit.writing import name_of_file

__all__ = ["Item", "complete", "from_json", "stem_of", "to_json", "written"]

Draw = Literal["over image", "map only", "image only"]


@dataclass(frozen=True)
class Item:
    """`shows`: one of the kinds. `source`: the model as `vizkit.load` or the page takes it, `model` as people call it;
    `size_hw`: its input where the whole picture was given in its own shape; `classes`: those that were typed. `image`:
    the name of the picture. `link`: the page of the view and its parameters, without the server. Without a model
    `source` is "", without a picture `image`.

    `edits`: changes of the picture and of the model (`interventions.Changes`).

    Filled when the picture is made (`complete`): `weights` and `pixels`, SHA-256 digests; `box_xyxy`, the part of the
    picture that the model saw.
    """

    shows: Shows
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
    box_xyxy: tuple[float, float, float, float] | None = None
    edits: tuple[str, ...] = field(default=(), metadata=LATER)

    @property
    def kind(self) -> str:
        return next(name for name, kind in KINDS.items() if isinstance(self.shows, kind))


def complete(item: Item, inputs: Subject) -> Item:
    """The item with what only the model and the picture tell."""
    item = replace(item, version=__version__, pixels=digest_of(inputs.original) if item.image else "")
    if not item.source:
        return item
    box = inputs.box_xyxy
    return replace(item, weights=inputs.weights,
                   box_xyxy=(float(box[0]), float(box[1]), float(box[2]), float(box[3])))  # fmt: skip


def to_json(item: Item) -> dict[str, Any]:
    return {"kind": item.kind, **asdict(item)}


def from_json(record: Any) -> Item:  # noqa: ANN401
    """The item of a record that `to_json` gave, through JSON. Raises ReportError for anything else."""
    record = dict(record) if isinstance(record, dict) else {}
    kind = record.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ReportError(f"This version of vizkit saves no picture of the kind {str(kind)[:40]!r}.")
    shows = read(KINDS[kind], record.pop("shows", None), "shows")
    return read(Item, record | {"shows": shows}, "item")


def stem_of(item: Item, inputs: Subject) -> str:
    """What is in a file, as its name without the suffix: never a path, whatever the names in it are."""
    shown = name_of_file(item.shows.stem(inputs.loaded), 80)
    return "_".join(name for name in (name_of_file(item.model), name_of_file(item.image), shown) if name)


def written(item: Item) -> str:
    """As text in a file."""
    return json.dumps(to_json(item))
