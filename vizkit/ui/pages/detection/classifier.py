"""The view Beside a classifier: ViT and Swin, asked for each class of a scene, beside the boxes of a DETR."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.ui import reading
from vizkit.ui.pages.detection.canvas import Box, Panel, boxes_of, canvas
from vizkit.ui.pages.detection.choices import threshold
from vizkit.ui.pages.detection.given import Given, choose
from vizkit.ui.pages.detection.keeping import keep
from vizkit.ui.pages.detection.results import seen
from vizkit.ui.session import cached
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page

if TYPE_CHECKING:
    from vizkit.evaluation.beside_classifier import InBoxes
    from vizkit.models.detection.matching import Things

CLASSIFIERS = {"ViT": "bundled:insects_vit", "Swin": "bundled:insects_swin"}


def view(page: Page) -> None:
    from vizkit.analysis.detection.boxes import corners
    from vizkit.models.detection.seen import sure

    given = choose(page)
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    with controls:
        found = sure(seen(given).layers[-1], threshold())
    things = things_in(given)
    present = list(dict.fromkeys(given.detector.labels[label] for label in things.labels.tolist()))
    if not present:
        canvas("det_beside", given, [Panel("DETR", "Nothing found.")], says="Nothing is here to be asked for.")
        return
    with controls:
        keep_valid("det_class", present)
        name = str(
            st.segmented_control(
                "Class", present, default=present[0], required=True, key="det_class", bind="query-params"
            )
            or present[0]
        )
    label = given.detector.labels.index(name)
    own = [
        Box(tuple(box), "#ffffff", dashed=True)
        for box, each in zip(corners(things.boxes_cxcywh).tolist(), things.labels.tolist(), strict=True)
        if each == label
    ]
    asked = {title: one_of(relevances(*given.key, source, given), label) for title, source in CLASSIFIERS.items()}
    panels = [Panel("DETR, what it finds", "Boxes of the DETR.", boxes_of(given, found))]
    panels += [
        Panel(f"{title}, relevance for {name}", f"Relevance of {title} for {name}.", own, each.heat)
        for title, each in asked.items()
    ]
    canvas("det_beside", given, panels, says=" ".join(words(title, name, each) for title, each in asked.items()))
    keep("det_beside", given, f"A detector and classifiers, asked for {name}", panels)
    reading.how(
        "The classifiers have only ever seen pictures of one insect with its name. Here they are asked for each class "
        "that is in the scene; the dashed boxes are those of the class, drawn or found.",
        None,
        "how a classifier would do with boxes to learn from: it was never told that there can be several things.",
        "Chefer et al. 2021; Carion et al. 2020",
    )


def words(title: str, name: str, each: "InBoxes") -> str:
    if each.heat is None:
        return f"{title} finds nothing that speaks for {name}."
    rest = f", {each.others:.0%} in those of others" if each.others else ""
    return (
        f"{title}: {each.share:.0%} of the relevance for {name} lies in its boxes, which cover "
        f"{each.area:.0%} of the picture{rest}."
    )


def things_in(given: Given) -> "Things":
    """What is in the picture: known of drawn scenes, found by the DETR in others."""
    from vizkit.models.detection.matching import Things
    from vizkit.models.detection.seen import sure

    if given.things is not None:
        return given.things
    found = sure(seen(given).layers[-1], 0.5)
    return Things(found.labels, found.boxes_cxcywh)


@remembered
def relevances(source: str, digest: str, classifier: str, _given: Given) -> "list[InBoxes]":
    """Of every class that is there; the classifier sees the picture as the DETR does, as a square."""
    from vizkit.evaluation.beside_classifier import relevance_in_boxes
    from vizkit.image import prepare, unprepare
    from vizkit.models.detection.assignments import boxes_px

    needs = _given.detector.preprocessing
    square = unprepare(prepare(_given.rgb, needs)[0], needs)
    things = things_in(_given)
    with cached.device_lock():
        return relevance_in_boxes(
            cached.model(classifier), square, boxes_px(things, square.shape[:2]), np.asarray(things.labels)
        )


def one_of(found: "list[InBoxes]", label: int) -> "InBoxes":
    return next(each for each in found if each.label == label)
