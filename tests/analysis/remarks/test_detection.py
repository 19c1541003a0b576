"""The sentences on boxes, by hand."""

from vizkit.analysis.detection.boxes import SAME
from vizkit.analysis.detection.instances import Own
from vizkit.analysis.remarks.detection import (
    Boxes,
    called,
    of_cost,
    of_doubles,
    of_found,
    of_habit,
    of_masks,
    of_missed,
    of_own,
    of_place,
    of_too_many,
    of_trail,
)


def found(boxes, threshold):
    return of_found(boxes, threshold, "scene 2")


def test_boxes_are_counted_against_what_there_is():
    said = found(Boxes(5, doubles=1, right=3, things=5), 0.5)
    assert said == "Scene 2: 3 of 5 insects found, 2 boxes too many, 1 of them said twice (score 0.50 or more)."
    assert found(Boxes(5, right=4, things=5), 0.5).startswith("Scene 2: 4 of 5 insects found, 1 box too many (")
    assert found(Boxes(1, right=1, things=1), 0.5).startswith("Scene 2: 1 of 1 insect found, no box too many (")
    assert ", 1 box too many, said twice (" in found(Boxes(5, doubles=1, right=4, things=5), 0.5)
    assert found(Boxes(0, right=0, things=2), 0.5).startswith("Scene 2: 0 of 2 insects found, no box too many (")


def test_where_there_is_nothing_every_box_is_too_many():
    assert found(Boxes(1, right=0, things=0), 0.5) == "Scene 2: no insect to find, 1 box too many (score 0.50 or more)."
    assert found(Boxes(0, right=0, things=0), 0.95).startswith("Scene 2: no insect to find, no box too many (")


def test_where_nobody_knows_boxes_are_counted_alone():
    assert found(Boxes(1), 0.5) == "Scene 2: 1 box (score 0.50 or more)."
    assert found(Boxes(4, doubles=2), 0.5) == "Scene 2: 4 boxes, 2 of them said twice (score 0.50 or more)."


def test_queries_together_and_alone():
    said = of_doubles(3, Boxes(4, 0, 4, 4), Boxes(9, 5, 4, 4), "scene 2")
    assert said == (
        "Scene 2 after layer 3, where each query looks at itself alone: 4 of 4 insects found, 5 boxes too many, all "
        "said twice; where queries look at each other: 4 of 4 insects found, no box too many."
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
        "The framed place lies on the leech, which gets 4.0 × the mean attention per pixel, against 0.5 × on the "
        "ground."
    )
    beside = of_own("leech", SAME, Own(4.0, 2.0, 0.5))
    assert beside.startswith("The box lies on the leech (IoU")


def test_of_several_of_a_name_it_is_said_which():
    names = ["leech (2 of 2 from the left)", "snail", "leech (1 of 2 from the left)"]
    assert called(["leech", "snail", "leech"], [0.8, 0.1, 0.3]) == names


def test_why_an_insect_is_missed():
    begun = "The leech is missed: query 3, which should find it, "
    assert of_missed("leech", 3, "snail", 0.3, 0.2, 0.8, 0.5) == begun + "is too unsure (snail 30 %)."
    assert of_missed("leech", 3, "snail", 0.6, 0.2, 0.8, 0.5) == begun + "calls it snail (60 %; leech 20 %)."
    assert of_missed("leech", 3, "leech", 0.6, 0.6, 0.4, 0.5).endswith("its box overlaps it by an IoU of 0.40 only.")
    assert of_missed("leech", 3, "leech", 0.6, 0.6, 0.7, 0.5).endswith("another leech, for which its box counts.")


def test_why_a_box_is_too_many():
    begun = "The box leech of query 3 is too many: "
    assert of_too_many("leech", 3, "", None, 0.2).startswith(begun + "it overlaps no insect")
    assert of_too_many("leech", 3, "snail", 5, 0.8) == begun + "it lies on the snail (IoU 0.80)."
    assert of_too_many("leech", 3, "leech", 5, 0.8) == (
        begun + "query 5, which is surer, has found this leech already (IoU 0.80)."
    )


def test_masks_say_by_which_rule_an_insect_is_found():
    begun = "By masks 2 of 4 insects found (right class, IoU above 0.5)"
    assert of_masks(4, 2, 0.25) == begun + "; panoptic quality 0.25 of 1."
    assert of_masks(0, 0, 1.0) == "", "there is nothing to find"


def test_scores_and_boxes_from_layer_to_layer_and_habits():
    assert of_trail(3, "leech", [0.4, 0.95]) == "Query 3, leech: 40 % → 95 % from layer to layer."
    assert of_trail(3, "leech", [0.4]) == "Query 3, leech: 40 %."
    assert of_cost(3, "1 leech", 0.25, 1.0, 0.5) == (
        "Query 3 for 1 leech costs 1.75: 0.25 for the class + 1.00 for the distance + 0.50 for the overlap."
    )
    assert of_habit(2, ["leech", "snail", "leech"]) == "Query 2: 3 boxes, most often leech (2 of 3)."
    assert of_habit(2, []) == "Query 2 said nothing that was sure enough."
