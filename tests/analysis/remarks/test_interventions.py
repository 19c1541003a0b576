"""What is said of a changed model, on numbers made by hand."""

import math
from dataclasses import replace

import numpy as np
import torch

from vizkit.analysis.attribution.smallest_set import Search
from vizkit.analysis.remarks.interventions import (
    of_alignment,
    of_answers,
    of_behaviour,
    of_contributions,
    of_deciding,
    of_lens,
    of_lens_value,
    of_likest,
    of_patches,
    of_patching,
    of_pruning,
    of_smallest,
    of_steering,
)
from vizkit.heads import LIKENESS

NAMES = ("ant", "bee")


def words(before, after, changes="5 patches hidden"):
    said = of_answers(NAMES, before, after, changes)
    return "" if said is None else said


def test_the_three_things_that_can_happen():
    assert words([0.9, 0.1], [0.89, 0.11]) == "With 5 patches hidden, the answer hardly moves: ant, from 90 % to 89 %."
    assert words([0.9, 0.1], [0.6, 0.4], "a head off") == "With a head off, the answer stays ant, from 90 % to 60 %."
    assert words([0.9, 0.1], [0.2, 0.8]) == (
        "With 5 patches hidden, the answer is bee (80 %) and no longer ant, which goes from 90 % to 20 %."
    )
    assert words([0.9, 0.1], [0.2, 0.8], "") == ""


def test_what_restores_most_is_said_with_its_place():
    regions = torch.zeros(3, 2, 2)
    regions[1, 0, 1] = 0.4
    special = torch.tensor([[0.1], [0.6], [1.0]])
    words = of_patching("mayfly", 0.9, 0.2, regions, special, ("cls",))
    assert words == (
        "The corruption takes mayfly from 90 % to 20 %; of 2 × 2 regions, row 1, column 2 after block 2 restores the "
        "largest share of its logit (40 %); from block 2 on the cls token alone restores more than half."
    )
    regions[2, 1, 0] = -1.24
    assert "(40 %), and row 2, column 1 after block 3 takes the most away (−124 %); from" in of_patching(
        "mayfly", 0.9, 0.2, regions, special, ("cls",)
    )
    heads = [np.array([0.1, 0.2]), np.array([-1.38])]
    assert of_patching("mayfly", 0.9, 0.2, regions, special, (), heads=heads).endswith(
        "(−124 %). Of the heads, head 1 of layer 2 takes the most away (−138 %)."
    )
    by_construction = torch.tensor([[0.1], [0.2], [1.0]])
    assert "alone" not in of_patching("mayfly", 0.9, 0.2, regions, by_construction, ("cls",)), "the head reads it"
    assert "alone" not in of_patching("mayfly", 0.9, 0.2, regions, special / 3, ("cls",))
    rough = of_patching("mayfly", 0.9, 0.2, regions, special, ("cls",), over="gull", rough=True)
    assert "to 20 %; so far, of 2 × 2 regions, row 1" in rough, "finer regions say something else"
    assert of_patching("gull", 0.9999, 0.9998, regions, special, ("cls",)).startswith(
        "The corruption leaves gull at more than 99 %; of 2 × 2"
    )
    assert "restores the largest share of its lead over gull (40 %)" in rough, "of a difference of two logits"


def test_where_a_direction_turns_the_answer():
    factors, names = (-1.0, 0.0, 1.0, 2.0), ("a", "b", "c")

    def words(*answers):
        return of_steering(names, factors, torch.eye(3)[list(answers)], "b")

    assert words(0, 0, 0, 0) == "Towards b: up to λ = 2 the answer stays a."
    assert words(0, 0, 1, 1) == "Towards b: from λ = 1 on the answer is no longer a but b (100 %)."
    assert words(0, 0, 2, 1) == "Towards b: from λ = 1 on the answer is no longer a, from λ = 2 on it is b (100 %)."
    assert words(0, 0, 2, 0) == "Towards b: from λ = 1 on the answer is no longer a, but at λ = 2 it is again."


def test_a_value_alone_is_said_without_others_beside_it():
    said = of_steering(("value",), (0.0, 1.0), torch.tensor([[0.1], [0.4]]), "cat", LIKENESS)
    assert said == "Towards cat: the value goes from 0.100 to 0.400, its largest, at λ = 1."


def test_of_a_likeness_is_said_plainly_whether_it_steers():
    factors, names = (-1.0, 0.0, 1.0, 2.0), ("china", "astronaut", "rocket")

    def words(*steered, rocket=(0.5, 0.5, 0.5, 0.5)):
        values = torch.tensor([[1.0] * 4, steered, rocket]).T
        return of_steering(names, factors, values, "astronaut", LIKENESS)

    assert words(0.1, 0.2, 0.4, 0.3) == (
        "Towards astronaut: the likeness to astronaut goes from 0.200 to 0.400, its largest, at λ = 1."
    )
    assert words(0.1, 0.2, 0.4, 0.7) == (
        "Towards astronaut: the likeness to astronaut goes from 0.200 to 0.700, its largest, at λ = 2, and from λ = 2 "
        "on it is the nearest other image."
    )
    assert words(0.8, 0.8, 0.7, 0.9, rocket=(0.5, 0.5, 0.75, 0.5)) == (
        "Towards astronaut it does not steer here: the likeness to astronaut grows from 0.800 to 0.900 at most, while "
        "that to rocket grows from 0.500 to 0.750."
    )
    assert words(0.8, 0.8, 0.7, 0.6) == (
        "Towards astronaut it does not steer here: no λ up to 2 makes the likeness to astronaut larger than 0.800."
    )


def test_smallest_sets_in_words():
    def said(goal, order, probability, reached=True, **more):
        return of_smallest(Search(goal, order, probability, reached, 40, 99), "patches", "gull", **more)

    assert (
        said("keep", (3, 1), (0.1, 0.3, 0.6))
        == "2 of 40 patches alone keep the answer gull, at 60 %; without any it has 10 %."
    )
    assert (
        said("flip", (3,), (0.9, 0.2)) == "Without 1 of 40 patches the answer is no longer gull, which falls to 20 %."
    )
    assert said("flip", (3,), (0.9, 0.2), other=("tern", 0.6)) == (
        "Without 1 of 40 patches the answer is tern (60 %) and no longer gull, which falls to 20 %."
    )
    assert said("keep", (3,), (0.1, 0.6), other=("tern", 0.8)).endswith(
        "at 60 %; without any the answer is tern (80 %) and it has 10 %."
    )
    assert said("keep", (3,), (0.1, 0.6), had=0.9).startswith(
        "1 of 40 patches alone keeps the answer gull, at 60 %, with all 40 at 90 %; without any it has 10 %."
    )
    assert said("keep", (), (0.7,)) == "No patches are needed: gull is the answer without any, at 70 %."
    assert said("flip", (1, 2), (0.9, 0.8, 0.7), False) == "2 of 40 patches are not enough yet: gull is at 70 %."


def test_deciding_parts_in_words():
    words = of_deciding({"ViT": (2.0, 0.5), "Swin": (1.0, 0.5), "CNN": (0.3, 0.5)})
    assert words == (
        "2 of 3 models surely lose more by the deciding parts, ViT the most: 2.00 ± 0.50 logits more; not CNN."
    )
    assert of_deciding({"CNN": (0.3, 0.5)}).startswith("No model surely loses more")


def test_the_numbers_and_the_least_change_of_an_answer():
    said = of_answers(NAMES, [0.75, 0.25], [0.72, 0.28], "a head off")
    assert said == "With a head off, the answer stays ant, from 75 % to 72 %."
    assert words([0.72, 0.28], [0.75, 0.25]) == "With 5 patches hidden, the answer stays ant, from 72 % to 75 %."


def test_one_part_that_is_or_is_not_enough():
    one = of_smallest(Search("keep", (3,), (0.25, 0.75), True, 4, 9), "patches", "gull")
    assert one == "1 of 4 patches alone keeps the answer gull, at 75 %; without any it has 25 %."
    less = of_smallest(Search("keep", (3,), (0.1, 0.2), False, 4, 9), "patches", "gull")
    assert less == "1 of 4 patches is not enough yet: gull is at 20 %."


def test_of_an_image_among_others_the_nearest_is_named():
    names = ("likeness to itself", "cat", "cup")

    def changed(after):
        return of_answers(names, [1.0, 0.5, 0.4], after, "a head off", LIKENESS) or ""

    falls = "With a head off, the likeness to itself goes from 1.000 to"
    assert changed([0.9, 0.6, 0.4]) == f"{falls} 0.900; the nearest other image stays cat, 0.500 before and 0.600 now."
    assert changed([0.9, 0.3, 0.4]) == (
        f"{falls} 0.900; the nearest other image was cat and is cup, 0.500 before and 0.400 now."
    )
    assert changed([0.9999, 0.501, 0.4]) == (
        "With a head off, the likeness to itself hardly moves, at 1.000; the nearest other image stays cat, 0.501."
    )
    assert changed([0.2, 0.3, 0.4]) == f"{falls} 0.200, and it is nearer to cup, 0.400."


def test_of_a_likeness_what_nothing_has_already_is_said():
    kept = Search("keep", (3, 4), (0.678, 0.7, 0.847), True, 36, 99)
    assert of_smallest(kept, "regions", "likeness to itself", LIKENESS, "a plain image", ("cat", 0.8)) == (
        "A plain image already has a likeness to itself of 0.678; 2 of 36 regions bring it more than half way to 1 "
        "(0.847) and above that to every other image (at most 0.800, cat)."
    )
    above = replace(kept, outputs=((0.678, 0.45),))
    assert of_smallest(above, "regions", "likeness to itself", LIKENESS, "a plain image", ("cat", 0.8)).endswith(
        "bring it more than half way to 1 (0.847)."
    ), "it was above every other one before"
    lost = Search("flip", (3,), (1.0, 0.8), True, 36, 99)
    assert of_smallest(lost, "regions", "likeness to itself", LIKENESS, "a plain image") == (
        "Without 1 of 36 regions the likeness to itself falls from 1.000 to 0.800, more than half way to that of a "
        "plain image."
    )


def test_one_model_surely_loses_more():
    said = of_deciding({"ViT": (0.5, 0.5), "CNN": (2.0, 0.5)})
    assert said == "CNN surely loses more by the deciding parts: 2.00 ± 0.50 logits more; not ViT."
    assert of_deciding({"CNN": (2.0, 0.5)}).endswith(": 2.00 ± 0.50 logits more.")


def test_from_where_on_a_lens_reads_the_answer():
    def said(*answers):
        return of_lens("ant", answers, 1, [0.25] * len(answers), "the class token")

    read = "Read off the class token, the answer ant is there"
    assert said(1, 1) == f"{read} after the first of 2 layers already and stays."
    assert said(0, 0, 1) == f"{read} only after the last layer."
    assert said(0, 1, 1) == f"{read} from layer 2 of 3 on and stays."
    assert said(1, 0, 1, 1) == (
        f"{read} from layer 3 of 4 on and stays; it was there before, after layer 1, and was lost again."
    )
    assert said(1, 1, 0) == (
        "ant is the likeliest answer not after the last layer, but after layers 1 to 2; at the end it has 25 %."
    )
    assert said(0, 1, 0) == (
        "ant is the likeliest answer not after the last layer, but after layer 2; at the end it has 25 %."
    )
    assert said(0, 0) == "ant is the likeliest answer after no layer; at the end it has 25 %."
    assert "after layers 1 and 3;" in said(1, 0, 1, 0)
    assert "after layers 1, 3, 5 and 7;" in said(1, 0, 1, 0, 1, 0, 1, 0)
    assert "after 5 layers;" in said(1, 0, 1, 0, 1, 0, 1, 0, 1, 0)


def test_of_a_likeness_is_said_which_layer_alone_brings_it():
    """ "half of it from layer 12 on" of a curve that leaps there was read as if only half came."""

    def said(*values):
        return of_lens_value("likeness", values, "the class token", LIKENESS)

    read = "Read off the class token, the likeness"
    assert said(0.15, -0.03, 0.1, 1.0) == (
        f"{read} stays between −0.030 and 0.150 up to layer 3: layer 4 of 4 alone brings it to 1.000."
    )
    assert said(0.1, 0.9, 1.0) == (
        f"{read} is 0.100 after the first layer: layer 2 of 3 alone brings it to 0.900, and it is 1.000 at the end."
    )
    assert said(0.0, 0.3, 0.6, 1.0) == (
        f"{read} goes from 0.000 after the first layer to 1.000, more than half of the way from layer 3 of 4 on."
    )
    assert said(1.0) == f"{read} goes from 1.000 after the first layer to 1.000."


def test_what_patches_say():
    values = torch.tensor([[-0.1, 0.2], [0.625, 0.3]])
    assert of_likest("likeness", values, 12, LIKENESS) == (
        "After layer 12, of each patch by itself the likeness is −0.100 to 0.625, the most in row 2, column 1."
    )
    parts = [("on the insect", "ant", 24, 36), ("beside it", "bee", 31, 160)]  # which are not most of them
    assert of_patches("ant", 55, 196, 6, [], parts).endswith(
        " The most frequent answer: on the insect ant (24 of 36), beside it bee (31 of 160)."
    )
    said = of_patches("ant", 1, 196, 8, [("bee", 11), ("fly", 2)])
    assert said == "After layer 8, 1 of 196 patches says ant; 11 say bee."
    assert of_patches("ant", 2, 196, 8, [("bee", 1)]) == "After layer 8, 2 of 196 patches say ant; 1 says bee."
    assert of_patches("ant", 1369, 1369, 8, []) == "After layer 8, 1,369 of 1,369 patches say ant."


def test_what_adds_most_to_a_logit():
    """All heads of a layer together stand against an MLP, for each of them alone is smaller."""
    heads, mlp = torch.tensor([[0.5, 0.75], [0.0, -0.5]]), torch.tensor([0.5, 1.0])
    said = of_contributions("ant", heads, heads.sum(1), mlp, 2.5)
    assert said == (
        "Of the +2.50 for ant, the attention of layer 1 gives the most (+1.25); the attention of layer 2 says most "
        "against it (−0.50). Of the heads, head 2 of layer 1 gives the most (+0.75)."
    )
    assert of_contributions("ant", heads.abs() / 4, heads.abs().sum(1) / 4, 2 * mlp, 2.5, 3) == (
        "Of the +2.50 for ant, the MLP of layer 5 gives the most (+2.00). Of the heads, head 2 of layer 4 gives the "
        "most (+0.19)."
    )
    assert ", no attention or MLP adds to it; the" in of_contributions("ant", heads, -heads.sum(1).abs(), -mlp, -2.5)


def test_what_a_head_does_tells_of_how_much_it_matters():
    def said(importance):
        remark = of_behaviour("distance", [(0, 0), (1, 0), (2, 4)], [0.5, math.nan, 0.25], importance)
        return remark if remark else ""

    start = "Distance: the most in head 1 of layer 1 (0.50), the least in head 5 of layer 3 (0.25)."
    lost = "rank correlation {} with what the answer loses."
    assert said(None) == said(math.nan) == start
    for value, tells in (
        (0.24, "hardly tells"),
        (0.25, "tells a little"),
        (0.59, "tells a little"),
        (0.6, "tells much"),
    ):
        assert said(value) == f"{start} It {tells} of how much a head matters: " + lost.format(f"{value:.2f}")
    assert said(-0.6).endswith("It tells much of how much a head matters: " + lost.format("−0.60"))
    remark = of_behaviour("distance", [(0, 0), (1, 0)], [0.5, 0.25], 0.125)
    assert remark is not None
    assert "the most in head 1 of layer 1 (9.00 patches)" in str(of_behaviour("far", [(0, 0)], [9.0], None, "patches"))
    assert of_behaviour("distance", [(0, 0)], [math.nan], None) is None


def test_heads_with_the_same_number_are_named_together():
    names = [(0, 5), (2, 1), (3, 0), (4, 0), (5, 0), (6, 0)]
    assert of_behaviour("far", names, [9.114, 9.11, 1.0, 1.0, 1.0, 1.0], None, "patches") == (
        "Far: the most in head 6 of layer 1 and head 2 of layer 3 (9.11 patches), the least in 4 heads (1.00 patches)."
    )


def test_how_many_heads_can_go():
    said = of_pruning(24, {"measured": 8, "estimate": 6, "random": 1}, 0.95)
    assert said == (
        "8 of 24 heads can go, the least important first, while 95 % of the answers stay; in the gradient's order 6, "
        "at random 1."
    )


def test_what_restores_and_what_turns_in_numbers():
    regions = torch.zeros(3, 2, 2)
    regions[2, 1, 0] = 0.5
    special = torch.tensor([[0.1, 0.5], [0.6, 0.5], [0.1, 0.5]])
    said = of_patching("mayfly", 0.75, 0.25, regions, special, ("cls", "dist"))
    assert said.endswith("from block 1 on the dist token alone restores more than half.")
    factors, values = (-1.0, 0.25, 1.0, 2.0), torch.eye(3)[[1, 0, 1, 1]]
    turned = of_steering(("a", "b", "c"), factors, values, "b")
    assert turned == "Towards b: from λ = 1 on the answer is no longer a but b (100 %)."
    assert (
        of_steering(("a", "b", "c"), factors, values[[1, 1, 1, 1]], "b") == "Towards b: up to λ = 2 the answer stays a."
    )


def test_layers_of_two_models_that_agree():
    one = of_alignment(np.array([[1.0]]), "ViT", "")
    two = of_alignment(np.array([[0.25, 0.5], [np.nan, 0.125]]), "ViT", "CNN")
    three = of_alignment(np.array([[1, 0.75, 0.25], [0.75, 1, 0.25], [0.25, 0.25, 1]]), "ViT", "")
    by = "By CKA, which is 1 for the same,"
    assert one == f"{by} neighbouring layers of ViT agree to 1.00 on average; the first and the last agree to 1.00."
    assert two == (
        f"{by} the most alike are layer 1 of ViT and layer 2 of CNN (0.50); the last layers of both agree to 0.12."
    )
    assert three == (
        f"{by} neighbouring layers of ViT agree to 0.50 on average, least layers 2 and 3 (0.25); the first and the "
        "last agree to 0.25."
    )
