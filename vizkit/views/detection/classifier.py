"""Beside a classifier: ViT and Swin, asked for each class of a scene, beside the boxes of a DETR."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.analysis.detection.boxes import corners
from vizkit.analysis.remarks.detection import of_classifiers
from vizkit.figure.detection.on_picture import Frame, Panel
from vizkit.views.blocks import Blocks, Numbers, Said
from vizkit.views.controls import choice
from vizkit.views.detection.scene import WHITE, Given, OfScene, least_score
from vizkit.views.rules import whole
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.evaluation.beside_classifier import InBoxes
    from vizkit.models.detection.matching import Things

CLASSIFIERS = {"ViT": "bundled:insects_vit", "Swin": "bundled:insects_swin"}


def classes(of: Sequence[Subject], view: Any) -> list[str]:
    """Those that are there, in the order of their first thing."""
    given = view.given(of[0])
    return list(dict.fromkeys(given.names(things_in(given).labels))) or [""]


class BesideClassifier(OfScene, View):
    """A ViT and a Swin, asked for each class of the scene, beside the boxes of that class."""

    score: float = least_score()
    asked: str | None = choice("Class", classes, "Of those that are there.", follows=True, runs=True, key="det_class")

    shows = "A detector and classifiers, asked for each class"
    how = How(
        "The classifiers have only ever seen pictures of one insect with its name. Here they are asked for each class "
        "that is in the scene; the dashed boxes are those of the class, drawn or found.",
        r"s = \sum_{i \in \text{boxes}} R_i^+ \Big/ \sum_i R_i^+ \quad\text{against the share of the picture in boxes}",
        "how a classifier would do with boxes to learn from: it was never told that there can be several things.",
        "Chefer et al. 2021; Carion et al. 2020",
    )

    def show(self, of: Subject) -> Blocks:
        given = self.given(of)
        said, things, names = given.sure(self.score), things_in(given), given.model.labels
        known = classes([of], self)
        asked = self.asked if self.asked in known else known[0]
        chosen = names.index(asked) if asked else -1
        found = [replace(frame, id=at) for frame, at in zip(given.found(said)[0], said.labels.tolist(), strict=True)]
        boxes = corners(things.boxes_cxcywh[things.labels == chosen]).tolist()
        own, shares = [Frame(box, WHITE, dashed=True) for box in boxes], {}
        panels, maps = [Panel(f"DETR, found in {given.title}", found)], dict.fromkeys(CLASSIFIERS, np.zeros((1, 1)))
        for title, source in CLASSIFIERS.items() if asked else ():
            make = partial(relevance, given, things, source, chosen)
            one = given.kept(("relevance of a classifier", source, chosen), make)
            shares[title] = None if one.heat is None else (one.share, one.others, one.area)
            maps[title] = maps[title] if one.heat is None else one.heat.clamp(min=0).numpy()
            heats = {chosen: maps[title] / maps[title].sum().clip(1e-12)}
            panels.append(Panel(f"{title}, relevance for {asked}", own, (), heats, "of the relevance"))
        told = partial(name_of, names), "asked"
        yield Said(of_classifiers(given.title, asked, shares))
        yield from self.canvas(given, panels, "Arrow keys choose a class.", told, chosen=chosen)
        yield Numbers(partial(dict, maps, picture=given.rgb, labels=things.labels, boxes_cxcywh=things.boxes_cxcywh))


def name_of(names: Sequence[str], told: object) -> str:
    return names[whole(0, len(names) - 1)(told)]


def things_in(given: Given) -> "Things":
    """What is in the picture: known of drawn scenes, found by the DETR in others."""
    from vizkit.models.detection.matching import Things

    found = given.sure(0.5)
    return given.things or Things(found.labels, found.boxes_cxcywh)


def relevance(given: Given, things: "Things", source: str, label: int) -> "InBoxes":
    """Of a class that is there; the classifier sees the picture as the DETR does, as a square."""
    from vizkit.evaluation.beside_classifier import relevance_of
    from vizkit.image import prepare, unprepare
    from vizkit.models import load
    from vizkit.models.detection.assignments import boxes_px

    loaded = given.of.kept(OfModel(("classifier", source)), partial(load, source, pretrained=True, device="cpu"))
    needs = given.model.preprocessing
    square = unprepare(prepare(given.rgb, needs)[0], needs)
    return relevance_of(label, loaded, square, boxes_px(things, square.shape[:2]), np.asarray(things.labels))
