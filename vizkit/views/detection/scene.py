"""What the views of Detection share: a drawn scene with its truth or the picture of the sidebar, the model that finds
things in it, and the panels that both are drawn in."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from vizkit.analysis.detection.boxes import corners, duplicates, found_again
from vizkit.analysis.remarks.detection import Boxes as Counted
from vizkit.analysis.remarks.detection import called
from vizkit.datasets import samples
from vizkit.datasets.scenes.drawing import SIZES_PX, Scene, draw_scene
from vizkit.figure.detection.on_picture import NOTE, WHITE, Frame, Panel, Panels
from vizkit.figure.palette import MARKS, class_colours
from vizkit.image import Pixels, data_url
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Canvas, Paper
from vizkit.views.controls import choice, detector, number
from vizkit.views.detection import OF, PICTURE, SCENE
from vizkit.views.rules import whole
from vizkit.views.subject import OfModel, Subject

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.detection.found import Found
    from vizkit.models.detection.matching import Things
    from vizkit.models.detection.opening import Detector
    from vizkit.models.detection.seen import Seen, Sure

BUNDLED, SHARP_PX, THUMBNAIL_PX, SCENES, MOST = "scenes_detr", 480, 64, 1_000, 99_999
OPENING, DIFFER = 541, 335
"""Scenes of the test split: one whose insects stand apart, all found and one of them twice; one in which the cheapest
pair first costs more (docs/detection.md)."""
OFFERED = (OPENING, DIFFER, 271, 1, 2, 4, 6, 9)
"""In scene 6 all is right; scene 4 has none."""
SURE = 0.5
RIGHT, WRONG = MARKS["best"], MARKS["fails"]
DRAWN_ONLY = "This model knows only drawn water insects: it gives their names to whatever is in other images."
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Given:
    """`rgb`: what the model is given; `shown`: the same, sharper. `number`: of a drawn scene, 0 for another image;
    `truth`: what is in it, where that is known, in pixels of `rgb`. `key`: the source of the model, and when it was
    written."""

    of: Subject
    model: "Detector"
    key: tuple[str, int]
    rgb: Pixels
    shown: Pixels
    title: str
    number: int = 0
    truth: Scene | None = None

    @property
    def things(self) -> "Things | None":
        """What there is to find, where it is known."""
        from vizkit.models.detection.assignments import things_of

        height, width = self.rgb.shape[:2]
        return None if self.truth is None else things_of(self.truth.boxes_xyxy, self.truth.labels, (height, width))

    def kept(self, what: Hashable, make: Callable[[], T]) -> T:
        """What is made of this image by this model, once."""
        key = what, self.key, self.number
        return self.of.kept(OfModel(key) if self.number else key, make)

    def seen(self, *, self_attention: bool = True) -> "Seen":
        from vizkit.models.detection.seen import look

        make = partial(look, self.model, self.rgb, self_attention=self_attention)
        return self.kept(("seen", self_attention), make)

    def sure(self, score: float, layer: int = -1, *, self_attention: bool = True) -> "Sure":
        """What queries say after a decoder layer with a score of at least that, the surest first."""
        from vizkit.models.detection.seen import sure

        return sure(self.seen(self_attention=self_attention).layers[layer], score)

    def names(self, labels: "Tensor | np.ndarray") -> list[str]:
        return [self.model.labels[label] for label in labels.tolist()]

    @property
    def called(self) -> list[str]:
        """What there is to find by its class, and which of several it is."""
        things = self.things
        return [] if things is None else called(self.names(things.labels), things.boxes_cxcywh[:, 0].tolist())

    def true_frames(self, missed: Mapping[int, int] = MappingProxyType({})) -> list[Frame]:
        """What there is to find, dashed; none where nobody knows. `missed`: the places of those that no box stands for,
        each with the query that the matching gives it to: they have their names."""
        if (things := self.things) is None:
            return []
        names = self.names(things.labels)
        return [
            Frame(box, WHITE, f"{names[at]}{NOTE}missed", dashed=True, id=missed[at])
            if at in missed
            else Frame(box, WHITE, dashed=True)
            for at, box in enumerate(corners(things.boxes_cxcywh).tolist())
        ]

    def found(self, said: "Sure") -> tuple[list[Frame], Counted]:
        """(boxes with class and score by their queries: right or wrong in RIGHT or WRONG, and what is wrong with them,
        where the truth is known, else in the colours of their classes; how many are right and how many too many)."""
        from vizkit.models.detection.matching import Things
        from vizkit.models.detection.precision import which_right

        things, boxes = self.things, (said.labels, said.boxes_cxcywh)
        if things is None:
            again = duplicates(*boxes)
            right = again & False
        else:
            right = which_right(Things(*boxes), things)
            again = found_again(*boxes, right, things.labels, things.boxes_cxcywh)
        kinds = ["" for _ in said.labels] if things is None else kinds_of(said, things)
        wrong = [
            "" if fits else f"{NOTE}said twice" if double else NOTE * bool(kind) + kind
            for fits, double, kind in zip(right.tolist(), again.tolist(), kinds, strict=True)
        ]
        unsure = "?" if things is None and self.key[0] == f"bundled:{BUNDLED}" else ""  # it knows only drawn insects
        names, scores = [f"{name}{unsure}" for name in self.names(said.labels)], map(in_percent, said.scores.tolist())
        words = (f"{name} {score}{note}" for name, score, note in zip(names, scores, wrong, strict=True))
        tints = class_colours(said.labels.tolist(), len(self.model.labels))
        if things is not None:
            tints = [RIGHT if fits else WRONG for fits in right.tolist()]
        rows = zip(corners(said.boxes_cxcywh).tolist(), tints, words, said.queries.tolist(), strict=True)
        counts = Counted(len(wrong), int(again.sum()), int(right.sum()), things and len(things.labels))
        return [Frame(box, tint, word, id=id) for box, tint, word, id in rows], counts


def least_score() -> Any:
    help = "Boxes whose class is at least so probable are shown."
    return number("Score from", 0.05, 0.95, SURE, help, step=0.05, more=True, key="det_score")


def numbered(default: int) -> Any:
    help = "Of those that no model of ours has learned from."
    return number("Scene", 1, SCENES, default, help, key="det_scene", more=True, typed=True, when=of_scene)


def of_scene(view: "OfScene") -> bool:
    return view.source == SCENE


@dataclass(frozen=True)
class OfScene:
    """Views of one image and what is found in it. `shows`: the title."""

    source: Literal["scene", "picture"] = choice(
        "Image",
        (SCENE, PICTURE),
        "Scenes whose truth is known, or the image that you have chosen: the sidebar then offers others.",
        words=OF,
        key="det_of",
        runs=True,
    )
    scene: int = numbered(OPENING)
    detector: str = detector(BUNDLED, key="det_model", more=True, runs=True)

    overlays = False
    shows = ""

    def title(self, of: Subject) -> str:
        return f"{self.shows} in {self.given(of).title}"

    @property
    def number(self) -> int:
        """Of the scene, 0 for another image."""
        return self.scene if self.source == SCENE else 0

    def given(self, of: Subject) -> Given:
        """Raises NotApplicable where the model cannot be opened."""
        model, key = opened(of, self.detector)
        if not self.number:
            truth = drawn_insect(of, model.labels)
            title = f"the image {of.image}" if of.image else "this image"
            return Given(of, model, key, of.rgb, of.rgb, title, truth=truth)
        small, sharp = (scene(of, self.number, side) for side in (model.preprocessing.size_hw[0], SHARP_PX))
        truth = known_to(model.labels, small)
        return Given(of, model, key, small.picture, sharp.picture, f"scene {self.number}", self.number, truth)

    def at(self, layers: Sequence[Any]) -> int:
        """The place of the chosen layer among them."""
        return min(getattr(self, "layer", None) or len(layers), len(layers)) - 1

    def canvas(self, given: Given, panels: Sequence[Panel], alt: str, picks: str = "", **more: Any) -> Blocks:
        """Scenes to choose from, and the panels. A click on a frame or a place sets the field `picks` to its id.
        `more`: of `Panels`."""
        drawn = Panels(given.shown, panels, **more)
        data = drawn.pack() | {"strip": self.strip(given) if given.number else [], "scene": given.number}
        told = {"scene": (whole(1, SCENES), "scene")}
        told |= {"pick": (whole(0, MOST), picks)} if picks else {}
        yield Canvas("vizkit_panels", data, alt, told, (Paper(drawn.marks),))

    def strip(self, given: Given) -> list[dict[str, Any]]:
        """Scenes to choose from and that which is shown, those with most mistakes first: what is missed and what is
        said too much."""
        of, score = given.of, getattr(self, "score", SURE)
        offered = dict.fromkeys((*OFFERED, given.number))
        counts = {each: mistakes_in(of, given.model, given.key, each, score) for each in offered}
        order = sorted(counts, key=lambda each: -(counts[each] or 0))
        return [{"scene": each, "picture": thumbnail(of, each), "mistakes": counts[each]} for each in order]


def scene(of: Subject, number: int, side_px: int) -> Scene:
    """Scene 1, 2, … of the test split."""
    side = min(max(side_px, SIZES_PX[0]), SIZES_PX[1])
    return of.kept(OfModel(("scene", number, side)), lambda: draw_scene(number - 1, split="test", size_px=side))


def drawn_insect(of: Subject, labels: Sequence[str]) -> Scene | None:
    """What is in the image of the sidebar: known where it is one of our drawn insects, as it was drawn."""
    if of.image not in samples.INSECTS or of.image not in labels or of.rgb is not of.original:
        return None
    seen = samples.insect(of.image).insect
    rows, columns = (np.flatnonzero(seen.any(axis)) for axis in (1, 0))
    box = np.array([[columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]], float)
    return Scene(of.rgb, box, np.array([labels.index(of.image)]), seen.astype(np.uint8))


def known_to(labels: Sequence[str], drawn: Scene) -> Scene | None:
    """A drawn scene with its insects by their places among the labels of a model; None where it has other names."""
    names = [samples.INSECTS[label] for label in drawn.labels.tolist()]
    if not {*names} <= {*labels}:
        return None
    return replace(drawn, labels=np.array([labels.index(name) for name in names], np.int64))


def mistakes_in(of: Subject, model: "Detector", key: Hashable, number: int, score: float) -> int | None:
    """How many things of a drawn scene are missed, and how many boxes are too many; None where the model has other
    classes."""
    from vizkit.models.detection.assignments import things_of
    from vizkit.models.detection.found import found
    from vizkit.models.detection.precision import which_right
    from vizkit.models.detection.tracing import decode, pixels_of

    side = model.preprocessing.size_hw[0]

    def answer() -> "Found":
        return found(decode(model.model, pixels_of(model, scene(of, number, side).picture)).layers[-1])[0]

    drawn = known_to(model.labels, scene(of, number, side))
    if drawn is None:
        return None
    said = of.kept(OfModel(("said of a scene", key, number)), answer).above(score).things
    things = things_of(drawn.boxes_xyxy, drawn.labels, drawn.instances.shape)
    right = int(which_right(said, things).sum())
    return len(said.labels) + len(things.labels) - 2 * right


def kinds_of(said: "Sure", things: "Things") -> list[str]:
    """What is wrong with each box, in the words of Many scenes."""
    from vizkit.evaluation.scenes.boxes import KINDS, Boxes, mistakes

    scores = (said.scores.numpy(), np.ones(len(things.labels), np.float32))
    found, there = (
        Boxes(np.zeros(len(each.labels), int), each.labels.numpy(), each.boxes_cxcywh.numpy(), score)
        for each, score in zip((said, things), scores, strict=True)
    )
    return [KINDS[kind] for kind in mistakes(found, there, 0.0).kind]


def thumbnail(of: Subject, number: int) -> str:
    return of.kept(OfModel(("thumbnail", number)), lambda: data_url(scene(of, number, 160).picture, THUMBNAIL_PX))


# ---- the model -------------------------------------------------------------------------------------------------------
def opened(of: Subject, name: str) -> "tuple[Detector, tuple[str, int]]":
    """(a model that finds things by its name in the picker, its source and when that was written: another training may
    have replaced the weights). NotApplicable with a sentence where it cannot be opened."""
    from vizkit.models import ModelError
    from vizkit.models.detection.opening import open_detector

    source, written = f"bundled:{name}", 0
    try:
        if name != BUNDLED:
            source = of.texts[name]
            written = max((file.stat().st_mtime_ns for file in Path(source).glob("*.safetensors")), default=0)
        return of.kept(OfModel(("detector", source, written)), lambda: open_detector(source)), (source, written)
    except (KeyError, OSError):
        raise NotApplicable(f"{name} is not here: choose another model.") from None
    except ModelError as sentence:
        raise NotApplicable(str(sentence)) from None


def shipped(name: str) -> dict[str, Any]:
    """What was measured of the model that comes with vizkit."""
    from vizkit.models.detection.opening import detector_folder

    file = detector_folder(f"bundled:{BUNDLED}")[0] / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8"))


def size(name: str, of: Sequence[Subject], view: Any) -> int:
    """Of the chosen model: "decoder_depth", "heads"…"""
    return int(opened(of[0], view.detector)[0].model.sizes[name])


depth = partial(size, "decoder_depth")


def last_query(of: Sequence[Subject], view: Any) -> int:
    return size("queries", of, view) - 1
