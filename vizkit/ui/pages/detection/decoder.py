"""The view Decoder: the boxes after each layer, and what becomes of them when queries do not look at each other."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.remarks.detection import of_doubles
from vizkit.ui import reading
from vizkit.ui.pages.detection.canvas import Panel, boxes_of, canvas, truth_of
from vizkit.ui.pages.detection.choices import layer, threshold
from vizkit.ui.pages.detection.given import Given, choose
from vizkit.ui.pages.detection.keeping import keep
from vizkit.ui.pages.detection.results import judged, seen
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import sentence

if TYPE_CHECKING:
    from vizkit.analysis.remarks.detection import Boxes
    from vizkit.models.detection.seen import Seen


def view(page: Page) -> None:
    given = choose(page)
    ways = {"Queries look at each other": seen(given), "Each looks at itself alone": seen(given, self_attention=False)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        depth = layer("det_step", len(given.detector.model.decoder))
        score = threshold()
        true = given.truth is not None and st.toggle("True boxes", False, key="det_decoder_truth", bind="query-params")
    made = [panel(given, title, one, depth, score, true) for title, one in ways.items()]
    panels, counts = zip(*made, strict=True)
    canvas("detection_decoder", given, panels, says=sentence(of_doubles(depth, *counts)))
    keep("detection_decoder", given, f"Boxes after decoder layer {depth}", panels)
    reading.how(
        "Step through the layers: each line leads from where a query's box was after the first layer to where it is. "
        "At the right the queries know nothing of each other; “again” marks a box of the same class as a surer one "
        "that overlaps it by an IoU of 0.5 or more, unless it stands for another insect.",
        r"x \leftarrow \mathrm{LN}(x + \mathrm{MHA}(x + q,\ x + q,\ x))\quad\text{against}\quad"
        r"x \leftarrow \mathrm{LN}(x + x W_V W_O)",
        "a network trained without self-attention: it would learn other questions.",
        "Carion et al. 2020, § 4.2 and fig. 4",
    )


def panel(given: Given, title: str, made: "Seen", depth: int, score: float, true: bool) -> "tuple[Panel, Boxes]":
    """The boxes after a layer, and how many of them are right and too many."""
    from vizkit.models.detection.seen import sure

    said = sure(made.layers[depth - 1], score)
    counts, wrong = judged(given, said)
    boxes = boxes_of(given, said, wrong)
    steps = [answers.boxes_cxcywh[0, said.queries, :2].tolist() for answers in made.layers[:depth]]
    paths = [([points[place] for points in steps], box.colour) for place, box in enumerate(boxes)]
    truth = truth_of(given) if true else []
    return Panel(title, f"{title}: boxes after layer {depth}.", [*truth, *boxes], paths=paths), counts
