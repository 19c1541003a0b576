"""Matching: which query stands for which thing while a DETR learns, and what that costs."""

from functools import partial
from typing import Any

import numpy as np

from vizkit.analysis.detection.boxes import corners
from vizkit.analysis.remarks.detection import of_matching
from vizkit.figure.detection.cost_matrix import cost_matrix
from vizkit.figure.detection.on_picture import Frame, Panel, Track
from vizkit.figure.palette import CLASSES
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Chart, Link, Numbers, Said
from vizkit.views.controls import layer, number
from vizkit.views.detection.scene import BUNDLED, OfScene, depth, drawn_scene
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

TITLES = "Hungarian, least in all", "Greedy, cheapest pair first"
DIFFERING, AFTER = 335, 2
"""A scene and a decoder layer in which the cheapest pair first costs clearly more (docs/detection.md)."""


def weight(label: str, default: float, most: float, help: str, name: str) -> Any:
    return number(label, 0.0, most, default, help, step=0.5, key=f"det_cost_{name}")


class Matching(OfScene, View):
    """While it learns, each thing is given to one query: the assignment that costs least in all."""

    scene: int = drawn_scene(DIFFERING, "det_match_scene")
    layer: int | None = layer(
        "After layer",
        "Of the decoder: the answers of all are matched.",
        default=AFTER,
        high=depth,
        follows=True,
        key="det_match_layer",
    )
    label: float = weight("Class", 1.0, 5.0, "Of 1 − p: how unsure a query is of the thing's class.", "label")
    distance: float = weight(
        "Box distance", 5.0, 10.0, "Of the difference of both boxes, summed over middle, width and height.", "distance"
    )
    overlap: float = weight("Overlap", 2.0, 10.0, "Of 1 − GIoU, the generalised overlap of both boxes.", "overlap")

    shows = "Queries matched with things"
    how = How(
        "Each thing (whole frame) gets one query (dashed frame); a line joins their middles. In the matrix blue frames "
        "are the assignment of least cost in all, brown ones the cheapest pairs first where they differ. The "
        "model does not run again when a weight moves.",
        r"\hat\sigma = \arg\min_\sigma \sum_i \lambda_c (1 - \hat p_{\sigma(i)}(c_i)) + \lambda_1 "
        r"\lVert b_i - \hat b_{\sigma(i)} \rVert_1 + \lambda_g (1 - \mathrm{GIoU}(b_i, \hat b_{\sigma(i)}))",
        "how the weights change what is learned: the model was trained with 1, 5 and 2.",
        "Carion et al. 2020, § 3.1",
    )

    def show(self, of: Subject) -> Blocks:
        from vizkit.models.detection.assignments import assigned, costs_of
        from vizkit.models.detection.matching import Weights

        given = self.given(of)
        things = given.things
        if things is None:
            raise NotApplicable(
                "What is really in this picture is not known, so nothing can be matched with it: choose a drawn scene."
            )
        layers, labels = given.seen().layers, given.names(things.labels)
        answers = layers[self.at(layers)]
        made = assigned(costs_of(answers, things), Weights(self.label, self.distance, self.overlap))
        names = [f"{thing + 1} {name}" for thing, name in enumerate(labels)]
        said, true = answers.boxes_cxcywh[0], things.boxes_cxcywh
        boxes, panels, arrays = corners(said).tolist(), [], {}
        for title, (name, way) in zip(TITLES, (("optimal", made.optimal), ("greedy", made.greedy)), strict=True):
            frames = [Frame(box, CLASSES[at], names[at]) for at, box in enumerate(corners(true).tolist())]
            frames += [Frame(boxes[query], CLASSES[at], f"query {query}", dashed=True) for query, at in way.pairs]
            ends = [(said[query, :2].tolist(), true[at, :2].tolist(), CLASSES[at]) for query, at in way.pairs]
            lines = [Track(both, tint) for *both, tint in ends]
            panels.append(Panel(f"{title}: cost {way.cost:.3f}", frames, lines))
            arrays[name] = np.array(way.pairs, int).reshape(-1, 2)
        pairs = "; ".join(f"query {query} for {names[thing]}" for query, thing in made.optimal.pairs)
        yield from self.canvas(given, panels, pairs)
        same = set(made.optimal.pairs) == set(made.greedy.pairs)
        yield Said(of_matching(given.title, len(names), made.optimal.cost, made.greedy.cost, same=same))
        if same and self.detector == BUNDLED:
            yield Link("A scene where they differ", Matching())
        if names:
            figure = cost_matrix(made.total.numpy(), names, made.optimal.pairs, made.greedy.pairs)
            yield Chart(figure, f"Cost of {len(boxes)} queries for {', '.join(names)}", "What each pair costs")
        yield Numbers(partial(dict, arrays, costs=made.total))
