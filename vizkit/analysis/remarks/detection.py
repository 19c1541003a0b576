"""What is found in an image, and where it was looked for, in a sentence."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.detection.boxes import SAME
from vizkit.analysis.detection.instances import Own
from vizkit.analysis.remarks.remark import begun, counted, joined, percent
from vizkit.percent import in_percent


class Boxes(NamedTuple):
    """How many there are. `right`: each stands for a thing of its own; `doubles`: of the others, those that say again
    what a surer one has found, or has said where nobody knows. `things`: how many there are to find; None where nobody
    knows, and no box is right."""

    count: int
    doubles: int = 0
    right: int = 0
    things: int | None = None

    @property
    def words(self) -> str:
        """ "4 of 5 insects found, 2 boxes too many, 1 of them said twice"."""
        more = self.count - self.right
        said = "" if more == 1 else "all " if self.doubles == more else f"{self.doubles} of them "
        again = f", {said}said twice" if self.doubles else ""
        if self.things is None:
            return f"{counted(self.count, 'box', 'boxes')}{again}"
        many = f"{counted(more, 'box', 'boxes')} too many{again}" if more else "no box too many"
        return (
            f"{self.right} of {counted(self.things, 'insect')} found, {many}"
            if self.things
            else (f"no insect to find, {many}")
        )


def of_found(boxes: Boxes, threshold: float, where: str) -> str:
    """Of the boxes of an image with a score of at least `threshold`."""
    return f"{begun(where)}: {boxes.words} (score {threshold:.2f} or more)."


def called(names: Sequence[str], middles_x: Sequence[float]) -> list[str]:
    """Names of things, and which of several of the same name each is."""
    each = [*zip(names, middles_x, strict=True)]
    ranks = [
        (sum(other[0] == name for other in each), sum(other <= (name, x) and other[0] == name for other in each))
        for name, x in each
    ]
    return [
        f"{name} ({rank} of {count} from the left)" if count > 1 else name
        for name, (count, rank) in zip(names, ranks, strict=True)
    ]


def of_inside(seen: Own) -> str:
    """Of a box where nobody knows what is there, by its cross-attention per pixel."""
    return f"The box gets {seen.own:.1f} × the mean attention per pixel, against {seen.ground:.1f} × outside it."


def of_own(name: str, iou: float, seen: Own) -> str:
    """Of a box and the thing that it overlaps most, by its cross-attention per pixel."""
    place = f"lies on the {name}" if iou >= SAME else f"overlaps the {name} most"
    return f"The box {place} (IoU {iou:.2f}), which gets {_beside(seen)}."


def of_place(name: str, seen: Own) -> str:
    """Of a cell on a thing of this name, by the encoder's self-attention per pixel."""
    return f"The framed place lies on the {name}, which gets {_beside(seen)}."


def of_places(seen: Sequence[Own]) -> str:
    """Of all cells that lie on things, "" where none does."""
    if not seen:
        return ""
    own, ground = (sum(getattr(each, name) for each in seen) / len(seen) for name in ("own", "ground"))
    others = None if seen[0].others is None else sum(each.others or 0.0 for each in seen) / len(seen)
    places = counted(len(seen), "place")
    return f"On average over {places} on insects, their own insect gets {_beside(Own(own, others, ground))}."


def of_strongest(place: int, weights: Float[Tensor, "row column"]) -> str:
    """Of one cell, counted row by row, and where it looks most."""
    most, columns = int(weights.argmax()), weights.shape[1]

    def named(cell: int) -> str:
        return f"row {cell // columns + 1}, column {cell % columns + 1}"

    at, share = "itself" if most == place else named(most), float(weights.max())
    return f"{begun(named(place))} looks most at {at}, {percent(share)} of its attention."


def of_doubles(layer: int, together: Boxes, alone: Boxes, where: str) -> str:
    """After a decoder layer, with and without self-attention of the queries."""
    return (
        f"{begun(where)} after layer {layer}, where each query looks at itself alone: {alone.words}; where queries "
        f"look at each other: {together.words}."
    )


Pair = tuple[int, float]


def of_matching(
    where: str, things: int, optimal: float, greedy: float, *, same: bool, differ: Sequence[tuple[str, Pair, Pair]] = ()
) -> str:
    """Of the cost of the best assignment and of the cheapest pair first; whether both have the same pairs. `differ`:
    things that get another query, with it and its cost in the former and in the latter."""
    if not things:
        words = f"{begun(where)} holds no insect: every query is to say “no object”, and nothing is matched."
    elif same:
        pairs = "the same query" if things == 1 else f"the same {things} pairs"
        words = f"{begun(where)}: Hungarian and greedy choose {pairs}, at a cost of {optimal:.3f}."
    else:
        each = [
            f"{name} gets query {one} ({a:.2f}) instead of {other} ({b:.2f})" for name, (one, a), (other, b) in differ
        ]
        there = f": there {joined(each)}" if each else ""
        words = f"{begun(where)}: the cheapest pair first costs {greedy:.3f} in all, the best assignment {optimal:.3f}"
        words += f"{there}."
    return words


def of_cost(query: int, name: str, label: float, distance: float, overlap: float) -> str:
    """Of one pair, each part weighed."""
    parts = f"{label:.2f} for the class + {distance:.2f} for the distance + {overlap:.2f} for the overlap"
    return f"Query {query} for {name} costs {label + distance + overlap:.2f}: {parts}."


def of_another(query: int, name: str, cost: float, surer: int, other: float) -> str:
    """Of a thing that training gives to one query while the box of another, which is surer, counts as having found it,
    with what both cost."""
    return (
        f"Query {query} is matched with {name} ({cost:.2f}), though as a box query {surer} has found it ({other:.2f}): "
        "of boxes the surest counts, while the cost weighs distance and overlap, too."
    )


def of_masks(things: int, found: int, quality: float) -> str:
    """`found`: those of the `things` of which a mask has the right class and an IoU above .5. `quality`: panoptic."""
    if not things:
        return ""
    words = f"By masks {found} of {counted(things, 'insect')} found (right class, IoU above 0.5)"
    return f"{words}; panoptic quality {quality:.2f} of 1."


def of_habits(apart: float, pictures: int) -> str:
    """`apart`: how far boxes of one query lie from their middle, of how far all do; NaN where nothing was said."""
    over = counted(pictures, "scene")
    if apart != apart:
        return f"In {over} nothing was said that was sure enough."
    return (
        f"Over {over} the boxes of one query lie {percent(apart)} as far from their middle as all boxes do: 100 % if "
        "queries had no places of their own."
    )


def of_missed(
    name: str, query: int, said: str, score: float, own: float, iou: float, threshold: float, which: str = ""
) -> str:
    """Of a thing of this `name` that no box stands for, and the query that should find it: what it says with which
    probability, the probability of `name`, and the overlap of its box. `which` of several things of its name."""
    whose = f"The {name}{which} is missed: query {query}, which should find it,"
    if score < threshold:
        return f"{whose} is too unsure ({said} {in_percent(score)})."
    if said != name:
        return f"{whose} calls it {said} ({in_percent(score)}; {name} {in_percent(own)})."
    if iou < SAME:
        return f"{whose} names it, but its box overlaps it by an IoU of {iou:.2f} only."
    return f"{whose} also overlaps another {name}, for which its box counts."


def of_too_many(said: str, query: int, name: str, surer: int | None, iou: float, which: str = "") -> str:
    """Of the box of a query; `name` of the thing on which it lies, "" for none, and `which` of several of its name;
    `surer`: the query whose box stands for this thing, None for none."""
    box = f"The box {said} of query {query} is too many:"
    if not name:
        return f"{box} it overlaps no insect by an IoU of {SAME} or more (at most {iou:.2f})."
    if said != name:
        return f"{box} it lies on the {name}{which} (IoU {iou:.2f})."
    return f"{box} query {surer}, which is surer, has found this {name}{which} already (IoU {iou:.2f})."


def of_trail(query: int, name: str, scores: Sequence[float]) -> str:
    """Of a box the probability of this class after each decoder layer."""
    layers = " from layer to layer" if len(scores) > 1 else ""
    return f"Query {query}, {name}: {' → '.join(map(in_percent, scores))}{layers}."


def of_habit(query: int, names: Sequence[str]) -> str:
    """Of one query: the class of each of its boxes."""
    if not names:
        return f"Query {query} said nothing that was sure enough."
    most, count = Counter(names).most_common(1)[0]
    return f"Query {query}: {counted(len(names), 'box', 'boxes')}, most often {most} ({count} of {len(names)})."


def _beside(seen: Own) -> str:
    others = "" if seen.others is None else f"{seen.others:.1f} × on the other insects and "
    return f"{seen.own:.1f} × the mean attention per pixel, against {others}{seen.ground:.1f} × on the ground"
