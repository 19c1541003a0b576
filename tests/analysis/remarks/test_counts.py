"""Tokens, filters, vectors, multiply–adds and maps beside one another, by hand."""

from functools import partial

import numpy as np
import pytest
import torch

from vizkit.analysis.attention.patches import cost
from vizkit.analysis.remarks import compute, data_set, evaluation, maps, patches
from vizkit.analysis.trust.deletion import Erased
from vizkit.heads import LIKENESS, SOFTMAX


def test_the_length_of_a_sequence_and_what_it_costs():
    """2·N·M·C of 12·N·C² + 2·N·M·C is M / (6C + M): 197 / (768 + 197). Of half the side 785² pairs for 197²."""
    costs = tuple(cost((side, side), 8, 128, special=1) for side in (112, 224))
    assert patches.sequence((14, 14), ["[cls]"], 128, costs) == (
        "196 patches and [cls] are a sequence of 197 tokens: 38,809 pairs in each head, 20 % of a layer's "
        "multiply–adds; patches of half the side would be 785 tokens and 15.9 times the pairs."
    )
    assert patches.sequence((8, 8), [], 128, None) == (
        "The sequence has 64 tokens, one for each patch; patches of half the side would be 256 tokens."
    )


def test_pairs_inside_windows_grow_with_the_tokens():
    """14 × 14 tokens in windows of 7 × 7: 4 · 49² = 9,604 pairs; 28 × 28: 16 · 49² = 38,416, 4 times as many."""
    costs = tuple(cost((side, side), 8, 64, 7) for side in (112, 224))
    words = patches.sequence((14, 14), [], 64, costs)
    assert "9,604 pairs in windows of 7 × 7" in words
    assert words.endswith("would be 784 tokens and 4.0 times the pairs.")


def test_a_patch_is_like_the_insect_and_unlike_what_is_around_it():
    """Places 0, 1, 4 are on the insect, 2 and 3 beside it; place 5 is touched, so it is neither."""
    covered = torch.tensor([1.0, 0.5, 0.0, 0.0, 0.9, 0.2])
    cosines = torch.tensor([1.0, 0.75, -0.5, 0.0, 0.25, 0.9])
    said = patches.beside_object(cosines, covered, 0, "block 2 of 6")
    assert said == (
        "After block 2 of 6, the chosen patch is more similar to the insect than to what is around it: mean cosine "
        "0.50 and −0.25."
    )
    assert "no more similar" in patches.beside_object(-cosines, covered, 0, "block 2 of 6")
    assert patches.beside_object(cosines, torch.ones(6), 0, "block 2 of 6") is None


def test_patches_that_are_alike():
    assert patches.alike(torch.tensor([0.91, 0.89, 0.2]), "block 3 of 6") == (
        "After block 3 of 6, 1 of 3 other patches is similar to the chosen patch (cosine 0.9 or more)."
    )
    said = patches.alike(torch.tensor([0.2, 0.89]), "stage 2 of 2", "the chosen place", "other places", (1, "stage 1"))
    assert said == (
        "After stage 2 of 2, none of 2 other places is similar to the chosen place: the largest cosine is 0.89; after "
        "stage 1, 1."
    )
    then = patches.alike(torch.ones(3), "block 3 of 6", "the class token", "patches", (0, "block 1"))
    assert then == (
        "After block 3 of 6, 3 of 3 patches are similar to the class token (cosine 0.9 or more); after block 1, 0."
    )
    assert patches.alike(torch.ones(1), "block 1 of 6") is None


def test_savings():
    assert compute.saved(25, 100, "multiply–adds", "the plain ViT") == (
        "This model saves 75 % of the multiply–adds of the plain ViT."
    )
    assert compute.saved(110, 100, "multiply–adds", "the plain ViT") == (
        "This model takes 10 % more multiply–adds than the plain ViT."
    )
    assert compute.saved(99, 100, "multiply–adds", "the plain ViT") is None


def test_who_takes_most():
    said = compute.most_and_least({"a": 10, "b": 40, "c": 20}, "multiply–adds")
    assert said == "b takes 4.0 times the multiply–adds of a."
    assert compute.most_and_least({"a": 10, "b": 40}, "tokens", "which reads less") == (
        "b takes 4.0 times the tokens of a, which reads less."
    )
    assert compute.most_and_least({"a": 100, "b": 109}, "multiply–adds") is None
    assert compute.most_and_least({"a": 100}, "multiply–adds") is None
    assert compute.most_and_least({"a": 2339, "b": 20}, "tokens") == "a takes 117 times the tokens of b."


def test_networks_keep_their_places_or_lose_them():
    said = compute.narrows({"a": ((14, 14), (14, 14)), "b": ((14, 14), (7, 7)), "c": ((28, 14), (7, 7))})
    assert said == (
        "From the first block to the last a keeps 14 × 14, b goes from 14 × 14 to 7 × 7 and c goes from 28 × 14 to "
        "7 × 7 places."
    )


def test_what_is_worth_its_cost():
    costs = {"a": 400, "b": 100, "c": 1}
    assert compute.worth(costs, {"a": 0.99, "b": 0.955}, "parameters") == (
        "a is right most often, on 99.0 % of the test images, for 4.0 times the parameters of b, which is right on "
        "95.5 %."
    )
    assert compute.worth(costs, {"a": 0.9, "b": 0.95}, "parameters") == (
        "b is right most often, on 95.0 %, and takes the fewest parameters."
    )
    assert compute.worth(costs, {"a": 0.9}, "parameters") is None


def test_the_best_map():
    gains = {"A": 0.4, "B": 0.05, "C": -0.2}
    ahead = "A knows best which places the model needs: 0.40 better than a random order."
    assert maps.best_map(gains, 0.05) == f"{ahead} B and C are no better than chance."
    assert maps.best_map({"A": 0.4}, 0.05) == ahead
    none = "Not one of the 2 maps is better than a random order on this image."
    assert maps.best_map({"B": 0.05, "C": -0.2}, 0.05) == none
    assert maps.best_map({}, 0.05) is None


def test_maps_that_one_picture_does_not_tell_apart_are_even():
    gains = {"A": 0.45, "B": 0.44, "C": 0.35}
    even = "A and B know best which places the model needs: +0.45 and +0.44 against a random order, no difference on "
    assert maps.best_map(gains, 0.05) == maps.best_map(gains, 0.05, "B") == f"{even}one image."
    assert maps.best_map(gains, 0.05, "C") == f"{even}one image; the large map, C, +0.35."
    more = maps.best_map(gains | {"D": 0.43, "E": 0.41}, 0.05)
    assert more.startswith("A, B and 2 more know best which places the model needs: +0.45 to +0.41 against")


def test_what_is_left_without_the_brightest():
    def words(whole, brightest, random, head=SOFTMAX):
        return maps.without_brightest(Erased(32 / 324, whole, brightest, random), head)

    assert words(0.972, 0.038, 0.974) == (
        "blurring the brightest 10 % lowers its probability from 97.2 % to 3.8 %, a random 10 % to 97.4 %"
    )
    assert words(0.5, 0.6, 0.25).startswith("blurring the brightest 10 % raises its probability from 50 % to 60 %,")
    assert words(1.0, 0.83, 0.99, LIKENESS) == (
        "blurring the brightest 10 % lowers the likeness of the embedding to that of the unchanged image from 1.000 to "
        "0.830, a random 10 % to 0.990"
    )
    assert (
        words(0.5, 0.5, 0.4) == "blurring the brightest 10 % leaves its probability at 50 %; a random 10 % gives 40 %"
    )


def test_a_map_that_is_nearly_even_is_said_to_be():
    places = torch.full((2, 2), 0.2)
    places[0, 0] = 0.4
    assert maps.nearly_even(places, "A", "Why.") == (
        "A is nearly even here: no place has more than 1.6 times an equal share. Why."
    )
    places[0, 0] = 0.7
    assert maps.nearly_even(places, "A", "Why.") is maps.nearly_even(torch.zeros(2, 2), "A", "") is None
    assert maps.nearly_even(torch.tensor([[1.0, -0.1]]), "A", "") is None  # which has two signs


def test_where_attention_gathers():
    even, gathered = np.full((2, 2), 0.2), np.array([[0.7, 0.1], [0.1, 0.1]])
    said = compute.gathers("A", {"block 1": np.array([[0.2, 0.1], [0.05, 0.05]]), "block 2": gathered})
    assert said == (
        "In A the most attended patch receives 2 times an equal share in block 1 and 2.8 times in block 2, where "
        "attention gathers most."
    )
    assert compute.gathers("A", {"block 1": gathered, "block 2": even}).endswith(
        "2.8 times an equal share in block 1, and no patch receives more in a later block."
    )
    assert compute.gathers("A", {"block 1": even}) == (
        "In A attention is spread evenly: no patch receives more than 1 times an equal share."
    )


def test_the_strongest_place():
    assert compute.strongest("A", {"stem": np.array([[1.0, 3.0]]), "block 2": np.array([[1.0], [2.0]])}) == (
        "In A the strongest place is 3 times as strong as the median one after stem, and 2 times after block 2, on "
        "2 × 1 places."
    )


def test_several_of_them_and_the_numbers_behind_the_words():
    alike = patches.alike(torch.tensor([0.9, 0.95, 0.2]), "stage 1 of 2")
    assert alike.startswith("After stage 1 of 2, 2 of 3 other patches are similar to the chosen patch")


@pytest.mark.parametrize(
    "train, validation, images, end",
    [
        (0.62, 0.60, (1078, 360), "neither stays ahead by more than chance."),  # standard error 3 points
        (0.85, 0.87, (690, 190), "neither stays ahead by more than chance."),
        (0.62, 0.60, (100_000, 100_000), "holds for its own images alone."),
        (0.62, 0.40, (1078, 360), "holds for its own images alone."),
        (0.62, 0.90, (1078, 360), "Likely why: those in training are judged while the weights still change."),
        (0.62, 0.40, None, "62 % of those in training."),
        (0.997, 1.0, (8000, 2000), "more than 99 % of those in training."),  # no gap that needs a reason
    ],
)
def test_of_two_accuracies_none_is_called_better_within_two_standard_errors(train, validation, images, end):
    assert evaluation.ahead([train] * 3, [validation] * 3, [], images).endswith(end)
    assert "fewer" not in evaluation.ahead([train] * 3, [validation] * 3, [], images)
    noisy = evaluation.ahead([train] * 3, [validation, train, validation], [], images)
    assert noisy.endswith(
        "neither stays ahead by more than chance." if abs(train - validation) > 0.01 and images else end
    )
    early = evaluation.ahead([train], [validation], [], images)
    assert early.endswith(end if abs(train - validation) > 0.1 else "of those in training."), "but for a large gap"


def test_of_runs_that_differ_in_more_than_one_thing_the_best_gets_a_caution():
    tests = {"CNN": (0.999, 2000, "3 min"), "ViT": (0.9, 2000, "20 min")}
    settings = ["model", "image size", "epochs", "teacher", "seed"]
    assert "ViT with 90.0 % after 20 min. The runs differ in model, image size, epochs and 2 more: any" in str(
        evaluation.best_run(tests, settings)
    )
    for few in ([], ["model"]):
        assert str(evaluation.best_run(tests, few)).endswith(
            "99.9 % of the test images after 3 min of training; then ViT with 90.0 % after 20 min."
        )
    alike = {"CNN": (0.91, 200, "3 min"), "ViT": (0.9, 200, "2 min")}
    assert str(evaluation.best_run(alike, settings)).endswith("one seed."), "there is nothing to explain"


def test_the_best_model_is_said_to_be_the_worst_calibrated():
    ece = {"CNN": 0.08, "ViT": 0.011, "Swin": 0.02}
    for surer, way in ((-0.08, "too unsure"), (0.08, "too sure"), (0.01, "too sure or too unsure")):
        said = f"But CNN is the worst calibrated: on average it is {way} by 8.0 points; ViT, the best, is off by 1.1"
        assert evaluation.calibrated("CNN", ece, surer) == f"{said} (ECE)."
    said = "ViT is the best calibrated, off by 1.1 points on average, CNN the worst, by 8.0 (ECE)."
    assert evaluation.calibrated("Swin", ece, 0.01) == said
    assert evaluation.calibrated("CNN", {"CNN": 0.01}, 0.01) is None


def test_training_images_and_new_ones_are_told_apart():
    assert data_set.counted_right(1318, 1437, 108, (1000, 1078)) == (
        "Right: 1,000 of 1,078 images that it was trained on and 318 of 359 new ones. 108 images with a planted wrong "
        "label are judged by what they show."
    )
    assert data_set.counted_right(9, 10, 0, (0, 0)) == ""


def test_what_the_surest_errors_share_comes_first_with_one_accuracy():
    map_of = partial(data_set.on_the_map, "ViT", 1318, 1437, 0.9, 0.1, "features")
    assert map_of(surest=(12, "8", 8, 8)) == (
        "8 of 12 surest errors are answered “8”, all with a planted mark in the corner; in all, ViT is right on 1,318 "
        "of 1,437 images."
    )
    assert "“8”, 7 of them with a planted mark" in map_of(surest=(12, "8", 8, 7))
    assert "mark" not in map_of(surest=(12, "8", 8, 0))
    assert map_of(surest=(12, "8", 5, 5)).startswith("ViT is right on 1,318 of 1,437 images; on the map")


def test_whoever_mends_all_labels_at_once_is_told_how_many_alarms_are_false():
    assert data_set.unsure(123, 37).endswith("of 123 suspect labels of this set 37 are right.")
    assert data_set.drawn(85).endswith("every label is right; 85 labels are doubted because the model errs.")
    assert data_set.drawn(0) == ""
    assert data_set.unsure(5, 0).endswith("a label that is suspect may be right.")


def test_an_image_may_be_suspect_for_two_reasons():
    said = data_set.suspected(1437, 148, {"wrong labels": 123, "near copies": 20, "unlike all others": 6})
    assert said.startswith("148 of 1,437 images should be looked at, for 149 reasons. Wrong labels: 123;")
    assert "reasons" not in data_set.suspected(9, 3, {"wrong labels": 2, "near copies": 1})
