"""Queries: what each object query tends to answer, over many pictures."""

from functools import partial
from typing import TYPE_CHECKING

from vizkit.analysis.remarks.detection import of_habits
from vizkit.analysis.remarks.remark import counted
from vizkit.figure.detection.query_habits import habits as habits_figure
from vizkit.figure.detection.query_habits import sizes
from vizkit.views.blocks import Blocks, Chart, Job, Later, Line, Numbers, Said, side_by_side
from vizkit.views.controls import detector, number
from vizkit.views.detection.scene import BUNDLED, last_query, opened, shipped
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from vizkit.evaluation.query_habits import Habits
    from vizkit.models.detection.opening import Detector

SCENES, LEAST = 100, 0.5


class Queries(View):
    """Every query has its habits: where its boxes lie, how large they are, and of what."""

    query: int = number("Query", 0, last_query, 0, "A click on its square, too.", follows=True, key="det_slot")
    detector: str = detector(BUNDLED, key="det_model", more=True)

    overlays = False
    how = How(
        "Everything that was said with a score from 0.5 on over many drawn scenes of the test split. A dot is the "
        "middle of a box, large for a large box; above each square stand the number of the query and how many boxes it "
        "said.",
        r"\text{apart} = \sqrt{\textstyle\sum (b - \bar b_{q})^2 \Big/ \sum (b - \bar b)^2}",
        "a query that looks for one kind: in DETR they differ by place and size, not by class.",
        "Carion et al. 2020, figure 7",
    )

    def title(self, of: Subject) -> str:
        return f"What the queries of {self.detector} answer"

    def show(self, of: Subject) -> Blocks:
        from vizkit.evaluation.query_habits import habits_from

        model, key = opened(of, self.detector)
        if self.detector == BUNDLED:
            yield from self.drawn(model, habits_from(shipped("queries")))
        else:
            job = Job(OfModel(("habits", key)), f"Asking all queries of {SCENES} scenes", partial(ask, model))
            yield Later(of, (job,), lambda done: [block for each in done.values() for block in self.drawn(model, each)])

    def drawn(self, model: "Detector", measured: "Habits") -> Blocks:
        boxes = [measured.of(each).boxes_cxcywh for each in range(measured.all_queries)]
        own = measured.of(min(self.query, len(boxes) - 1))
        counts = ", ".join(str(len(each)) for each in boxes)
        title = f"Query {self.query}: size and class of its {counted(len(own.queries), 'box', 'boxes')}"
        habits = Chart(
            habits_figure([each[:, :2] for each in boxes], [each[:, 2:].prod(1) for each in boxes], self.query),
            f"Middles of the boxes of each query; boxes by query: {counts}",
            "Where their boxes lie",
            "query",
        )
        beside = Chart(sizes(own.boxes_cxcywh, own.labels, model.labels), title, title)
        yield side_by_side(habits, beside if len(own.queries) else Line(f"{title}."), widths=(3, 2))
        yield Said(of_habits(measured.apart(), measured.pictures))
        names = ("queries", "labels", "scores", "boxes_cxcywh")
        yield Numbers(lambda: {name: getattr(measured, name) for name in names})


def ask(model: "Detector", progress: "Callable[[int, int], None]") -> "Habits":
    from vizkit.datasets.scenes.opening import open_boxes
    from vizkit.evaluation.query_habits import habits

    scenes = open_boxes("scenes", "test", count=SCENES)
    return habits(model, scenes, LEAST, lambda done: progress(done, SCENES))
