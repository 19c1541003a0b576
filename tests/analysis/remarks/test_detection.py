"""The sentences on boxes, by hand."""

from vizkit.analysis.detection.boxes import SAME
from vizkit.analysis.detection.instances import Own
from vizkit.analysis.remarks.detection import Boxes, of_doubles, of_found, of_own, of_place


def found(boxes: Boxes, threshold: float):
    return of_found(boxes, threshold, "scene 2")


def test_boxes_are_counted_against_what_there_is():
    said = found(Boxes(5, doubles=1, right=3, things=5), 0.5)
    assert said == "Scene 2: 3 of 5 insects found, 2 boxes too many, 1 of them said again (score 0.50 or more)."
    assert found(Boxes(5, right=4, things=5), 0.5).startswith("Scene 2: 4 of 5 insects found, 1 box too many (")
    assert found(Boxes(1, right=1, things=1), 0.5).startswith("Scene 2: 1 of 1 insect found, no box too many (")
    assert ", 1 box too many, said again (" in found(Boxes(5, doubles=1, right=4, things=5), 0.5)
    assert found(Boxes(0, right=0, things=2), 0.5).startswith("Scene 2: 0 of 2 insects found, no box too many (")


def test_where_there_is_nothing_every_box_is_too_many():
    assert found(Boxes(1, right=0, things=0), 0.5) == "Scene 2: no insect to find, 1 box too many (score 0.50 or more)."
    assert found(Boxes(0, right=0, things=0), 0.95).startswith("Scene 2: no insect to find, no box too many (")


def test_where_nobody_knows_boxes_are_counted_alone():
    assert found(Boxes(1), 0.5) == "Scene 2: 1 box (score 0.50 or more)."
    assert found(Boxes(4, doubles=2), 0.5) == "Scene 2: 4 boxes, 2 of them said again (score 0.50 or more)."


def test_queries_together_and_alone():
    said = of_doubles(3, Boxes(4, 0, 4, 4), Boxes(9, 5, 4, 4), "scene 2")
    assert said == (
        "Scene 2 after layer 3: 4 of 4 insects found, no box too many; where each query looks at itself alone: 4 of 4 "
        "insects found, 5 boxes too many, all said again."
    )


def test_a_box_that_hardly_overlaps_an_insect_does_not_lie_on_it():
    seen = Own(4.0, 0.5, 0.25)
    assert of_own("midge larva", 0.71, seen) == (
        "The box lies on the midge larva (IoU 0.71), which gets 4.0 × the mean attention per pixel, against 0.5 × on "
        "the other insects and 0.2 × on the ground."
    )
    assert of_own("midge larva", 0.03, seen).startswith("The box overlaps the midge larva most (IoU 0.03), which")


def test_the_attention_beside_a_thing_and_the_numbers_behind_the_words():
    alone = of_place("leech", Own(4.0, None, 0.5))
    assert alone == (
        "The place lies on the leech, which gets 4.0 × the mean attention per pixel, against 0.5 × on the ground."
    )
    beside = of_own("leech", SAME, Own(4.0, 2.0, 0.5))
    assert beside.startswith("The box lies on the leech (IoU")
