"""Queries: which query stands for which thing while a DETR learns, what that costs, and the habits that follow."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.analysis.detection.boxes import corners
from vizkit.analysis.remarks.detection import of_another, of_cost, of_habit, of_habits, of_matching
from vizkit.figure.detection.cost_matrix import cost_matrix
from vizkit.figure.detection.on_picture import Frame, Panel
from vizkit.figure.detection.query_habits import habits as habits_figure
from vizkit.figure.palette import CLASSES
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Chart, Job, Later, Line, Link, Numbers, Part, Said
from vizkit.views.controls import layer, number
from vizkit.views.detection.scene import (
    BUNDLED,
    DIFFER,
    SURE,
    Given,
    OfScene,
    depth,
    last_query,
    numbered,
    of_scene,
    shipped,
)
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from vizkit.evaluation.query_habits import Habits
    from vizkit.models.detection.assignments import Assigned
    from vizkit.models.detection.opening import Detector

TITLES = "Hungarian, least in all", "Greedy, cheapest pair first"
SCENES, LEAST = 100, 0.5


def weight(what: str, default: float, most: float, help: str, name: str) -> Any:
    key = f"det_cost_{name}"
    return number(f"Weight of the {what}", 0.0, most, default, help, step=0.5, key=key, when=of_scene)


class Queries(OfScene, View):
    """While it learns, each thing is given to the query that costs least in all; so every query gets its habits."""

    scene: int = numbered(DIFFER)
    layer: int | None = layer(
        "After layer",
        "Of the decoder: the answers of all are matched.",
        high=depth,
        follows=True,
        key="det_match_layer",
        when=of_scene,
    )
    label: float = weight("class", 1.0, 5.0, "Of 1 − p: how unsure a query is of the thing's class.", "label")
    distance: float = weight(
        "distance", 5.0, 10.0, "Of the difference of both boxes, summed over middle, width and height.", "distance"
    )
    overlap: float = weight("overlap", 2.0, 10.0, "Of 1 − GIoU, the generalised overlap of both boxes.", "overlap")
    query: int = number(
        "Query",
        -1,
        last_query,
        -1,
        "Whose habits; −1: the first of those that the two ways assign differently, or of the matched.",
        follows=True,
        inside=True,
        key="det_slot",
    )

    shows = "Queries matched with things"
    how = How(
        "Each thing (whole frame) gets one query. Dashed boxes are those of queries that the two ways assign "
        "differently, all where they do not differ. The model does not run again when a "
        "weight moves. Habits: a dot is the middle of a box said with a score from 0.5 on over many drawn scenes, "
        "large for a large box; in each square the query and how many boxes it said.",
        r"\hat\sigma = \arg\min_\sigma \sum_i \lambda_c (1 - \hat p_{\sigma(i)}(c_i)) + \lambda_1 "
        r"\lVert b_i - \hat b_{\sigma(i)} \rVert_1 + \lambda_g (1 - \mathrm{GIoU}(b_i, \hat b_{\sigma(i)})),\quad "
        r"\text{apart} = \sqrt{\textstyle\sum (b - \bar b_{q})^2 \Big/ \sum (b - \bar b)^2}",
        "how the weights change what is learned: the model was trained with 1, 5 and 2. Nor a query that looks for one "
        "kind: in DETR they differ by place and size, not by class.",
        "Carion et al. 2020, § 3.1 and figure 7",
    )

    def show(self, of: Subject) -> Blocks:
        from vizkit.evaluation.query_habits import habits_from

        given = self.given(of)
        yield Part(partial(self.matching, given))
        if self.detector == BUNDLED:
            yield from self.habits(given, habits_from(shipped("queries")))
        else:
            job = Job(
                OfModel(("habits", given.key)), f"Asking all queries of {SCENES} scenes", partial(ask, given.model)
            )
            yield Later(of, (job,), lambda done: [each for one in done.values() for each in self.habits(given, one)])

    def matched(self, given: Given) -> "Assigned":
        from vizkit.models.detection.assignments import assigned, costs_of
        from vizkit.models.detection.matching import Weights

        if given.things is None:
            other = f"{given.model.name} has other classes than the insects of {given.title}, so none can be matched."
            unknown = "What is really in this image is not known, so nothing can be matched with it"
            raise NotApplicable(other if given.number else f"{unknown}: choose a drawn scene.")
        layers = given.seen().layers
        weights = Weights(self.label, self.distance, self.overlap)
        return assigned(costs_of(layers[self.at(layers)], given.things), weights)

    def matching(self, given: Given) -> Blocks:
        made = self.matched(given)
        layers, things = given.seen().layers, given.things
        assert things is not None
        names = [f"{thing + 1} {name}" for thing, name in enumerate(given.names(things.labels))]
        said, true = layers[self.at(layers)].boxes_cxcywh[0], things.boxes_cxcywh
        boxes, panels, arrays = corners(said).tolist(), [], {}
        both = set(made.optimal.pairs) & set(made.greedy.pairs)
        same = both == set(made.optimal.pairs)
        for title, (name, way) in zip(TITLES, (("optimal", made.optimal), ("greedy", made.greedy)), strict=True):
            queries = {at: query for query, at in way.pairs}
            frames = [
                Frame(box, CLASSES[at], f"{names[at]} ← query {queries[at]}" if at in queries else names[at])
                for at, box in enumerate(corners(true).tolist())
            ]
            drawn = [pair for pair in way.pairs if same or pair not in both]
            frames += [Frame(boxes[query], CLASSES[at], dashed=True) for query, at in drawn]
            panels.append(Panel(f"{title}: cost {way.cost:.3f}", frames))
            arrays[name] = np.array(way.pairs, int).reshape(-1, 2)
        best, cheap = ({thing: query for query, thing in way.pairs} for way in (made.optimal, made.greedy))
        differ = [
            (names[at], (best[at], float(made.total[best[at], at])), (cheap[at], float(made.total[cheap[at], at])))
            for at in sorted(best.keys() & cheap.keys())
            if best[at] != cheap[at]
        ]
        costs = made.optimal.cost, made.greedy.cost
        yield Said(of_matching(given.title, len(names), *costs, same=same, differ=differ))
        pairs = "; ".join(f"query {query} for {names[thing]}" for query, thing in made.optimal.pairs)
        if same:
            panels = [replace(panels[0], title=f"Hungarian and greedy: cost {made.optimal.cost:.3f}")]
        yield from self.canvas(given, panels, pairs)
        if same and self.detector == BUNDLED:
            yield Link("A scene where they differ", Queries())
        if names:
            query, thing = first(made)
            parts = ("label", "distance", "overlap")
            cost = (getattr(self, part) * float(getattr(made.each, part)[query, thing]) for part in parts)
            yield Line(of_cost(query, names[thing], *cost))
            yield from map(Line, self.others(given, made, names))
            figure = cost_matrix(made.total.numpy(), names, made.optimal.pairs, made.greedy.pairs)
            yield Chart(figure, f"Cost of {len(boxes)} queries for {', '.join(names)}", "What each pair costs")
        yield Numbers(partial(dict, arrays, costs=made.total))

    def others(self, given: Given, made: "Assigned", names: Sequence[str]) -> list[str]:
        """Of every thing that is matched with another query than that whose box has found it."""
        from vizkit.evaluation.scenes.mistakes import mistakes

        layers, things = given.seen().layers, given.things
        assert things is not None
        at, best = self.at(layers), dict(made.optimal.pairs)
        _, too_many = mistakes(layers[at], given.sure(SURE, at), things)
        return [
            of_another(
                each.query,
                names[thing],
                float(made.total[each.query, thing]),
                each.surer,
                float(made.total[each.surer, thing]),
            )
            for each in too_many
            if each.surer is not None and (thing := best.get(each.query)) is not None and thing == each.thing
        ]

    def habits(self, given: Given, measured: "Habits") -> Blocks:
        boxes = [measured.of(each).boxes_cxcywh for each in range(measured.all_queries)]
        query = self.query if self.query >= 0 else first(self.matched(given))[0] if given.things else 0
        query = min(query, len(boxes) - 1)
        yield Said(of_habits(measured.apart(), measured.pictures))
        counts = ", ".join(str(len(each)) for each in boxes)
        yield Chart(
            habits_figure([each[:, :2] for each in boxes], [each[:, 2:].prod(1) for each in boxes], query),
            f"Middles of the boxes of each query; boxes by query: {counts}",
            "Where the boxes of each query lie",
            "query",
        )
        yield Said(of_habit(query, [given.model.labels[label] for label in measured.of(query).labels]))
        names = ("queries", "labels", "scores", "boxes_cxcywh")
        yield Numbers(lambda: {name: getattr(measured, name) for name in names})


def first(made: "Assigned") -> tuple[int, int]:
    """The first pair (query, thing) that the two ways assign differently, or of all; no thing: (0, 0)."""
    return min(made.optimal.pairs, key=lambda pair: (pair in made.greedy.pairs, pair[1]), default=(0, 0))


def ask(model: "Detector", progress: "Callable[[int, int], None]") -> "Habits":
    from vizkit.datasets.scenes.opening import open_boxes
    from vizkit.evaluation.query_habits import habits

    scenes = open_boxes("scenes", "test", count=SCENES)
    return habits(model, scenes, LEAST, lambda done: progress(done, SCENES))
