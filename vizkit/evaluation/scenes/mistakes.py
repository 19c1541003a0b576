"""Which things are missed and which boxes are too many, and why."""

from typing import NamedTuple

from vizkit.analysis.detection.boxes import overlaps
from vizkit.models.detection.assignments import assigned, costs_of
from vizkit.models.detection.matching import Things, Weights
from vizkit.models.detection.precision import RIGHT_OVERLAP, which_right
from vizkit.models.detection.seen import Sure
from vizkit.models.networks.detr import Answers


class Missed(NamedTuple):
    """`thing`: its place, from 0. `query`: that which training would match it with, which should say `wanted`, of
    probability `own`; `label`: its likeliest class, of probability `score`; `iou`: of its box with the thing's."""

    thing: int
    query: int
    wanted: int
    label: int
    score: float
    own: float
    iou: float


class TooMany(NamedTuple):
    """A box of `query` that says `label`. `thing`: the place of that which it overlaps most, with an IoU of at least
    0.5, one of its class before all others, else None; `surer`: the query whose box stands for this thing, None where
    it is missed; `iou`: with this thing, else with the one overlapped most, 0 where there is none."""

    query: int
    label: int
    thing: int | None
    surer: int | None
    iou: float


def mistakes(answers: Answers, said: Sure, things: Things) -> tuple[list[Missed], list[TooMany]]:
    """Of one image: what the queries answer, those of them that are sure, and what there is to find."""
    queries = {thing: query for query, thing in assigned(costs_of(answers, things), Weights()).optimal.pairs}
    right = which_right(Things(said.labels, said.boxes_cxcywh), things)
    iou, found = overlaps(said.boxes_cxcywh, things.boxes_cxcywh), dict[int, int]()  # things, each by which query
    own = iou.where(things.labels == said.labels[:, None], 0.0)  # of the box's class
    for box in right.nonzero()[:, 0].tolist():
        of_class = own[box]
        left = set(range(len(of_class))) - found.keys()
        found[max(left, key=lambda thing, of_class=of_class: float(of_class[thing]))] = int(said.queries[box])
    probabilities, boxes = answers.logits[0].float().softmax(-1), answers.boxes_cxcywh[0].float()
    missed = list[Missed]()
    for thing in sorted(queries.keys() - found.keys()):
        query, wanted = queries[thing], int(things.labels[thing])
        score, likeliest = probabilities[query, :-1].max(-1)
        overlap = float(overlaps(boxes[query][None], things.boxes_cxcywh[thing][None]))
        missed.append(
            Missed(thing, query, wanted, int(likeliest), float(score), float(probabilities[query, wanted]), overlap)
        )
    too_many = list[TooMany]()
    for box in (~right).nonzero()[:, 0].tolist():
        again = bool((own[box] >= RIGHT_OVERLAP).any())  # a surer one has found that thing
        each = (own if again else iou)[box].tolist()
        overlap, thing = max(zip(each, range(len(each)), strict=True), default=(0.0, 0))
        on = thing if overlap >= RIGHT_OVERLAP else None
        surer = None if on is None else found.get(on)
        too_many.append(TooMany(int(said.queries[box]), int(said.labels[box]), on, surer, overlap))
    return missed, too_many
