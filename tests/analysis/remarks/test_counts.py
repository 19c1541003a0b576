"""Tokens, filters, vectors, multiply–adds and maps beside one another, by hand."""

import numpy as np
import torch

from vizkit.analysis.remarks import compute, maps, patches
from vizkit.analysis.trust.deletion import Erased
from vizkit.heads import LIKENESS, SOFTMAX, Head


def test_tokens():
    assert patches.tokens((14, 14), 1, {None}) == (
        "The model reads this image as 197 tokens, 1 special one included; patches of half the side would be 784 and "
        "16 times the pairs."
    )
    assert patches.tokens((8, 8), 0, {None}).startswith("The model reads this image as 64 tokens; patches of")


def test_pairs_inside_windows_grow_with_the_tokens():
    """14 × 14 tokens in windows of 7 × 7: 4 · 49² = 9,604 pairs; 28 × 28: 16 · 49² = 38,416, 4 times as many."""
    said = patches.tokens((14, 14), 0, {(7, 7)})
    assert said.endswith("would be 784 and 4 times the pairs, since attention stays inside windows of 7 × 7 tokens.")
    assert "784 and about 4 times" in patches.tokens((14, 14), 0, {(4, 4)})  # some windows are cut off
    assert "about 4 times" in patches.tokens((14, 14), 0, {(7, 4)})
    assert "windows of 2 × 7 and 7 × 2 tokens." in patches.tokens((14, 14), 0, {(7, 2), (2, 7)})
    assert patches.tokens((14, 14), 0, {(7, 7), None}).endswith("would be 784.")
    assert patches.tokens((14, 14), 0, set()).endswith("would be 784.")


def test_the_part_that_compares_tokens():
    """2·N·M·C of 12·N·C² + 2·N·M·C is M / (6C + M): 64 / 256."""
    assert patches.compared(64, 32) == (
        "Here 25 % of the multiply–adds of one layer, attention and MLP together, compare and mix tokens: that part "
        "grows with the square of the number of tokens."
    )
    assert patches.compared(64, 32, windows=True).endswith("grows only as the number of tokens does.")


def test_how_far_filters_are_from_noise():
    """Of noise that is spread evenly half lies in 10 of 20 components."""
    even, two, eight = (torch.zeros(20) for _ in range(3))
    even[:], two[:2], eight[:8] = 0.05, 0.4, 0.065
    said = patches.learned(two, even)
    assert said == (
        "Half of the variance of these filters lies in 2 components, that of noise of the same size in 10: few "
        "patterns make them up."
    )
    assert "in 8 components" in patches.learned(eight, even)
    assert "still much like noise" in patches.learned(eight, even)
    assert "as many-sided as the noise" in patches.learned(even, even)


def test_a_patch_is_like_the_insect_and_unlike_what_is_around_it():
    """Places 0, 1, 4 are on the insect, 2 and 3 beside it; place 5 is touched, so it is neither."""
    covered = torch.tensor([1.0, 0.5, 0.0, 0.0, 0.9, 0.2])
    cosines = torch.tensor([1.0, 0.75, -0.5, 0.0, 0.25, 0.9])
    said = patches.beside_object(cosines, covered, 0, "block 2 of 6")
    assert said == (
        "After block 2 of 6, the chosen place is more similar to the insect than to what is around it: mean cosine "
        "0.50 and −0.25."
    )
    assert "no more similar" in patches.beside_object(-cosines, covered, 0, "block 2 of 6")
    assert patches.beside_object(cosines, torch.ones(6), 0, "block 2 of 6") is None


def test_patches_that_are_alike():
    assert patches.alike(torch.tensor([1.0, 0.91, 0.89, 0.2]), "block 3 of 6") == (
        "After block 3 of 6, 1 other place of 3 is similar to the chosen one: cosine 0.9 or more."
    )
    assert patches.alike(torch.tensor([1.0, 0.89]), "stage 1 of 2") is None
    assert patches.nearest(torch.tensor([1.0, 0.2, 0.89]), "stage 1 of 2") == (
        "After stage 1 of 2, no other place reaches a cosine of 0.9 with the chosen one: the largest is 0.89."
    )


def test_outliers():
    assert patches.outliers(torch.tensor([1.0, 2.0, 9.0]), 1, 4) == (
        "After layer 4, 1 patch of 3 is an outlier, the longest 4.5 times as long as the median."
    )
    assert patches.outliers(torch.ones(3), 0, 4) is None


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
    assert compute.most_and_least({"a": 100, "b": 109}, "multiply–adds") is None
    assert compute.most_and_least({"a": 100}, "multiply–adds") is None


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
    none = "Not one of the 2 maps is better than a random order on this picture."
    assert maps.best_map({"B": 0.05, "C": -0.2}, 0.05) == none
    assert maps.best_map({}, 0.05) is None


def test_what_is_left_without_the_brightest():
    def words(whole: float, brightest: float, random: float, head: Head = SOFTMAX) -> str:
        return maps.without_brightest(Erased(32 / 324, whole, brightest, random), head)

    assert words(0.972, 0.038, 0.974) == (
        "blurring the brightest 10 % lowers its probability from 97.2 % to 3.8 %, a random 10 % to 97.4 %"
    )
    assert words(0.5, 0.6, 0.25).startswith("blurring the brightest 10 % raises its probability from 50 % to 60 %,")
    assert words(1.0, 0.83, 0.99, LIKENESS) == (
        "blurring the brightest 10 % lowers the likeness from 1.000 to 0.830, a random 10 % to 0.990"
    )
    assert (
        words(0.5, 0.5, 0.4) == "blurring the brightest 10 % leaves its probability at 50 %; a random 10 % gives 40 %"
    )


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
    alike = patches.alike(torch.tensor([1.0, 0.9, 0.95, 0.2]), "stage 1 of 2")
    assert alike is not None
    assert alike.startswith("After stage 1 of 2, 2 other places of 3 are similar to the chosen one")
    outliers = patches.outliers(torch.tensor([0.25, 0.25, 0.375, 1.125, 1.0]), 2, 1)
    assert outliers == ("After layer 1, 2 patches of 5 are outliers, the longest 3.0 times as long as the median.")
    assert outliers is not None
    half = patches.learned(torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.4, 0.3, 0.3]))
    assert half.startswith(
        "Half of the variance of these filters lies in 1 component, that of noise of the same size in 2"
    )
    assert patches.compared(64, 32).startswith("Here 25 % of the multiply–adds")
    assert patches.tokens((2, 3), 2, set()).startswith(
        "The model reads this image as 8 tokens, 2 special ones included"
    )
