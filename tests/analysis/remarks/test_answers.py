"""Answers beside one another, by hand."""

import numpy as np
import pytest
import torch

from vizkit.analysis.remarks import answers, distillation
from vizkit.analysis.remarks.evaluation import detector, most_frequent_mistake, placed

LABELS = ("ant", "bee", "fly")


@pytest.mark.parametrize(
    "after, words",
    [
        ([0.3, 0.6, 0.1], "Without the shift the answer changes from “ant” (80 %) to “bee” (60 %)."),
        ([0.74, 0.2, 0.06], "Without the shift the answer stays “ant”, with 74 % instead of 80 %."),
        ([0.76, 0.2, 0.04], None),
    ],
)
def test_after_a_change(after, words):
    before = torch.tensor([0.8, 0.1, 0.1])
    assert answers.after_change(before, torch.tensor(after), LABELS, "Without the shift") == words


def agreement(*rows):
    return answers.agreement([(f"image {number}", row) for number, row in enumerate(rows, 1)])


def test_who_agrees():
    same, apart = {"a": "ant", "b": "ant"}, {"a": "ant", "b": "bee"}
    assert agreement(same) == "Both models agree: “ant”."
    assert agreement(apart) == "They differ: a says “ant”; b says “bee”."
    assert agreement(same, same, apart) == (
        "Both models agree on 2 of 3 images; of “image 3” a says “ant” and b says “bee”."
    )
    assert agreement(apart, apart) == (
        "Both models agree on none of 2 images; of “image 1” a says “ant” and b says “bee”."
    )
    assert agreement(same, same, same) == "Both models agree on all 3 images."
    assert agreement({"a": "ant"}, {}) is None
    three = {"a": "ant", "b": "bee", "c": "ant"}
    assert agreement(three) == "They differ: a and c say “ant”; b says “bee”."
    assert agreement(three, {**three, "b": "ant"}) == (
        "All 3 models agree on 1 of 2 images; of “image 1” a and c say “ant” and b says “bee”."
    )


def test_who_is_right():
    ants, bees = {"a": "ant", "b": "ant", "c": "ant"}, {"a": "bee", "b": "bee", "c": "fly"}
    assert answers.right_on([("ant", ants), ("bee", bees)]) == (
        "c is wrong on 1 of 2 images: it takes “bee” for “fly”; a and b are right on all."
    )
    assert answers.right_on([("fly", bees), ("bee", ants), ("ant", ants)], "labelled image") == (
        "a is wrong on 2 of 3 labelled images; it takes “fly” for “bee”, for example; c is wrong on 1 of 3 labelled "
        "images."
    )
    assert answers.right_on([("bee", bees)]) == "c takes “bee” for “fly”; a and b are right."
    assert answers.right_on([("ant", ants)]) == "All 3 models are right: “ant”."
    assert answers.right_on([("ant", {"a": "ant"}), ("bee", {"a": "bee"})]) == "a is right on both images."
    assert answers.right_on([("ant", {"a": "ant"}), ("3", {"b": "3"})]) == (
        "a and b are right on every image whose class they know."
    )
    assert answers.right_on([("ant", {"a": "bee", "c": "ant"}), ("3", {"b": "3"})]) == (
        "a takes “ant” for “bee”; c and b are right on all that they know."
    )
    assert answers.right_on([("ant", {})]) is None


def test_what_answers_withstand():
    kept = {"a": {"Blur": 1.0, "Noise": 0.5}, "b": {"Blur": 0.25, "Noise": 0.5}}
    assert answers.withstood(kept) == (
        "a keeps its answer in 75 % of the changes of this image, b in 38 %; hardest is “Noise”, with 50 % in the "
        "mean of both models."
    )
    assert answers.withstood(kept, {"a": (0.7, 0.8), "b": (0.3, 0.6)}) == answers.withstood(kept)
    assert answers.withstood(kept, {"a": (0.58, 0.8), "b": (0.3, 0.6)}).startswith(
        "a keeps its answer in 75 % of the changes of this image and b in 38 %, which chance alone may make differ; "
    ), "draws that reach one another have no order"
    assert answers.withstood({"a": kept["a"]}) == (
        "a keeps its answer in 75 % of the changes of this image; hardest is “Noise”, with 50 %."
    )
    assert answers.withstood({"a": {"Blur": 1.0}}) == "a keeps its answer in 100 % of the changes of this image."


def test_a_temperature():
    """Logits log 98, log 1, log 1: at T = 2 the roots 9.9, 1, 1 of 11.9."""
    logits = torch.tensor([98.0, 1.0, 1.0]).log()
    assert distillation.softened(logits, 2.0, LABELS) == (
        "At T = 2 the first class, “ant”, has 83 % instead of 98 %, the second class, “bee”, has 8 % instead of 1 %."
    )
    assert distillation.softened(logits, 1.0, LABELS) == (
        "At T = 1 nothing is softened: the first class, “ant”, has 98 %, the second class, “bee”, has 1 %."
    )


def test_a_student():
    shares = {"the teacher": 0.5, "DeiT": 0.52, "the mean": 0.48, "the ViT": 0.7}
    assert distillation.beside_teacher([0.01, 0.01, 0.2], 3.0, "ant", shares, 12) == (
        "At T = 3 DeiT (52 %) and the mean (48 %) are about as sure of “ant” as the teacher (50 %), the ViT (70 %) "
        "surer."
    )
    assert distillation.beside_teacher([0.1], 3.0, "ant", {"the teacher": 0.5, "DeiT": 0.3}, 12) == (
        "At T = 3 DeiT (30 %) is less sure of “ant” than the teacher (50 %)."
    )


@pytest.mark.parametrize(
    "share, words",
    [
        (1.0, "nothing but “ant” is left in any answer: so low a temperature hides what differs."),
        (0.3, "all 4 classes have nearly the same share in every answer: differences no longer show."),
        (0.5, "DeiT (50 %) and ViT (51 %) are about as sure of “ant” as the teacher (50 %)."),
    ],
)
def test_answers_that_are_alike_at_a_temperature_are_not_told_apart(share, words):
    shares = {"the teacher": share, "DeiT": share, "ViT": min(1.0, share + 0.01)}
    assert distillation.beside_teacher([0.001, 0.003], 3.0, "ant", shares, 4) == f"At T = 3 {words}"


def test_two_tokens_by_layer():
    assert distillation.overlapping([0.5, 0.25, 0.9]) == (
        "The two tokens give 25 % of their attention to the same tokens in layer 2, the least, and 90 % in layer 3, "
        "the most."
    )


def test_the_parts_of_a_recipe():
    assert distillation.worth({"no a": 75.8, "no b": 80.0, "more": 82.0, "no c": 79.0}, 81.8) == (
        "Of the changes that still train these cost the most, in points: no a (6.0), no c (2.8) and no b (1.8)."
    )


def test_answers_of_several():
    same = dict.fromkeys(("the teacher", "the class token", "the mean of both"), "ant")
    assert distillation.answered(same, "ant") == "All answer “ant”, which is right."
    assert distillation.answered(same, "bee") == "All answer “ant”, which is wrong: right is “bee”."
    assert distillation.answered({"the teacher": "ant", "DeiT": "ant"}, "") == "Both answer “ant”."
    assert distillation.answered(same | {"the network trained alone": "bee"}, "bee") == (
        "The answers differ: the teacher, the class token and the mean of both “ant”; the network trained alone “bee”. "
        "Right is “bee”."
    )


def test_the_most_frequent_mistake():
    counts = torch.tensor([[5, 2, 0], [0, 3, 1]]).numpy()
    assert most_frequent_mistake(counts, LABELS[:2], LABELS) == (
        "The most frequent mistake: it takes “ant” for “bee”, on 2 of 7 images (29 %)."
    )
    counts[1, 0] = 2
    assert most_frequent_mistake(counts, LABELS[:2], LABELS) == (
        "The most frequent mistakes, on 2 images each: it takes “ant” for “bee” and “bee” for “ant”."
    )
    counts[0, 1] = counts[1, 0] = 1
    assert most_frequent_mistake(counts, LABELS[:2], LABELS) is None


def test_of_many_mistakes_of_one_number_some_are_named_and_all_are_counted():
    said = most_frequent_mistake(np.full((3, 4), 2), LABELS[:3], (*LABELS[:3], "another class"))
    assert said.count("for") == 3
    assert said.endswith("and 6 other pairs.")


@pytest.mark.parametrize(
    "better, worse, words",
    [
        ((), (), "neither better nor worse than others"),
        (("ant",), (), "worse than ant"),
        ((), ("bee", "fly"), "better than bee and fly"),
        (("ant",), ("bee",), "better than bee and worse than ant"),
    ],
)
def test_one_s_own_model_among_others(better, worse, words):
    said = placed("mine", 9, 10, better, worse)
    assert said == f"mine is right on 9 of 10 images (90.0 %); the paired test finds it {words}."


def test_kinds_of_mistakes_of_one_number_are_all_named():
    said = detector("DETR", 0.5, 3, 10, {"wrong class": 2, "said twice": 4, "missed": 4})
    assert said.endswith(
        ", 10 in the other 7 scenes; the most frequent: 4 boxes are said twice and 4 things are missed."
    )
