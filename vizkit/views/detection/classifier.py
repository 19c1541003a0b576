"""Beside a classifier: ViT and Swin, asked for each class of a scene, beside the boxes of a DETR."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vizkit.analysis.detection.boxes import corners
from vizkit.analysis.remarks.detection import of_classifiers
from vizkit.figure.on_picture import Frame, Panel
from vizkit.views.blocks import Block, Numbers, Said
from vizkit.views.controls import choice
from vizkit.views.detection.boxes import least_score
from vizkit.views.detection.scene import Given, OfScene, boxes_of, judged, seen
from vizkit.views.of_model import OfModel
from vizkit.views.rules import Rule, one_of
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.evaluation.beside_classifier import InBoxes
    from vizkit.models.detection.matching import Things

CLASSIFIERS = {"ViT": "bundled:insects_vit", "Swin": "bundled:insects_swin"}


def classes(of: Sequence[Subject], view: Any) -> list[str]:
    """Those that are there, in the order of their first thing."""
    given = view.given(of[0])
    return list(dict.fromkeys(given.names(things_in(given).labels))) or [""]


@dataclass(frozen=True)
class BesideClassifier(OfScene, View):
    """A ViT and a Swin, asked for each class of the scene, beside the boxes of that class."""

    score: float = least_score()
    asked: str | None = choice("Class", classes, "Of those that are there.", follows=True, key="det_class")

    how: ClassVar = How(
        "The classifiers have only ever seen pictures of one insect with its name. Here they are asked for each class "
        "that is in the scene; the dashed boxes are those of the class, drawn or found.",
        r"s = \sum_{i \in \text{boxes}} R_i^+ \Big/ \sum_i R_i^+ \quad\text{against the share of the picture in boxes}",
        "how a classifier would do with boxes to learn from: it was never told that there can be several things.",
        "Chefer et al. 2021; Carion et al. 2020",
    )

    def title(self, of: Subject) -> str:
        return f"A detector and classifiers, asked for each class of {self.given(of).title}"

    def show(self, of: Subject) -> Iterator[Block]:
        from vizkit.models.detection.seen import sure

        given = self.given(of)
        said = sure(seen(given).layers[-1], self.score)
        things, names = things_in(given), given.model.labels
        found = [
            Frame(frame.box_xyxy, frame.colour, frame.word, id=label)
            for frame, label in zip(boxes_of(given, said, judged(given, said)[1]), said.labels.tolist(), strict=True)
        ]
        own = [
            Frame(box, "#ffffff", dashed=True, id=label)
            for box, label in zip(corners(things.boxes_cxcywh).tolist(), things.labels.tolist(), strict=True)
        ]
        known = classes([of], self)
        asked = self.asked if self.asked in known else known[0]
        by = {title: relevances(given, things, source) for title, source in CLASSIFIERS.items() if asked}
        panels = [Panel(f"DETR, found in {given.title}", found)]
        for title, each in by.items():
            title = f"{title}, relevance for the class"
            heats = {one.label: shares_of(one.heat) for one in each if one.heat is not None}
            panels.append(Panel(title, own, heats=heats, quantity="of the relevance", unit="%", own=True))
        told: Rule[str] = one_of(known)
        tells = {"box": (lambda label: told(names[int(label)]) if isinstance(label, int) else told(label), "asked")}
        chosen = names.index(asked) if asked else -1
        yield from self.canvas(given, panels, "Arrow keys choose a class.", tells, chosen=chosen)
        found_by = {title: next(one for one in each if one.label == chosen) for title, each in by.items()}
        yield Said(of_classifiers(given.title, asked, {title: measured(one) for title, one in found_by.items()}).words)
        yield Numbers(partial(numbers, given, things, by))


def shares_of(heat: "Tensor") -> np.ndarray:
    """Of all that speaks for the class, (row, column)."""
    positive = heat.clamp(min=0).numpy()
    return positive / positive.sum().clip(1e-12)


def measured(one: "InBoxes") -> tuple[float, float, float] | None:
    """Shares in the boxes of the class, in those of others, and of the picture; None where nothing speaks for it."""
    return None if one.heat is None else (one.share, one.others, one.area)


def numbers(given: Given, things: "Things", by: "dict[str, list[InBoxes]]") -> dict[str, Any]:
    """Of each classifier by class (its share in boxes of the class, in those of others, and what they cover)."""
    arrays: dict[str, Any] = {"picture": given.rgb, "labels": things.labels, "boxes_cxcywh": things.boxes_cxcywh}
    for title in CLASSIFIERS:
        rows = [(one.label, *(measured(one) or (0.0, 0.0, one.area))) for one in by.get(title, ())]
        arrays[title.lower()] = np.array(rows, float).reshape(-1, 4)
    return arrays


def things_in(given: Given) -> "Things":
    """What is in the picture: known of drawn scenes, found by the DETR in others."""
    from vizkit.models.detection.matching import Things
    from vizkit.models.detection.seen import sure

    if given.things is not None:
        return given.things
    found = sure(seen(given).layers[-1], 0.5)
    return Things(found.labels, found.boxes_cxcywh)


def relevances(given: Given, things: "Things", source: str) -> "list[InBoxes]":
    """Of every class that is there; the classifier sees the picture as the DETR does, as a square."""
    from vizkit.evaluation.beside_classifier import relevance_in_boxes
    from vizkit.image import prepare, unprepare
    from vizkit.models import load
    from vizkit.models.detection.assignments import boxes_px

    def make() -> "list[InBoxes]":
        loaded = given.of.kept(OfModel(("classifier", source)), lambda: load(source, pretrained=True, device="cpu"))
        needs = given.model.preprocessing
        square = unprepare(prepare(given.rgb, needs)[0], needs)
        return relevance_in_boxes(loaded, square, boxes_px(things, square.shape[:2]), np.asarray(things.labels))

    return given.kept(("relevance of a classifier", source), make)
