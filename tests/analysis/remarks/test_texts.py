"""The sentences below masks and words, by hand."""

import torch

from vizkit.analysis.attention.walkthrough import SENTENCE_WEIGHTS
from vizkit.analysis.remarks import sequences, words
from vizkit.analysis.sequences.masks import allowed, masked

WEIGHTS = torch.tensor(SENTENCE_WEIGHTS)


def test_rows_masked_after_the_softmax():
    said = sequences.rows(masked(WEIGHTS, allowed("causal", 6, 6)))
    assert said
    assert said.startswith("Masked after the softmax, 5 rows sum to less than 1, the first to 0.268;")
    assert sequences.rows(masked(WEIGHTS / WEIGHTS.sum(-1, keepdim=True), allowed("none", 6, 6))) is None


def test_hidden_words():
    assert sequences.guessed([], [], []) is None
    right, wrong = sequences.guessed(["may"], ["may"], [0.9]), sequences.guessed(["may"], ["june"], [0.6])
    assert right
    assert right == "The guess “may”, with 90 %, is right."
    assert wrong
    assert wrong == "The guess “june”, with 60 %, is wrong: it was “may”."
    two = sequences.guessed(["may", "2"], ["june", "2"], [0.6, 1.0])
    assert two
    assert two == "Right at first guess: 1 of 2 hidden words; missed: “may”."


def test_the_next_word():
    assert sequences.certain("2", 0.999, "1") == "Most probable next: “2”, more than 99 %."
    assert sequences.certain("2", 0.5, "1") == "Most probable next: “2”, 50 %, before “1”."


def test_a_kind_of_words_in_order():
    """Four words on a quarter circle, 30° apart, and two more at right angles to all of them."""
    angles = torch.tensor([0.0, 30.0, 60.0, 90.0]).deg2rad()
    vectors = torch.zeros(6, 4)
    vectors[:4, 0], vectors[:4, 1] = angles.cos(), angles.sin()
    vectors[4, 2] = vectors[5, 3] = 1.0
    alike = vectors @ vectors.T
    said = words.kind(alike, [0, 1, 2, 3], "digits")
    assert said
    assert "more alike than they are to other words" in said
    assert "neighbours in order 0.87, others 0.33" in said
    shuffled = words.kind(alike, [0, 2, 1, 3], "digits")
    assert shuffled
    assert "their order cannot be seen" not in said
    assert words.kind(alike, [4, 5], "two") is None
    strangers = words.kind(alike, [0, 4, 5], "others")
    assert strangers
    assert "no more alike" in strangers


def test_partners_are_nearest_of_all():
    alike = torch.tensor([[1.0, 0.9, 0.1, 0.2], [0.9, 1.0, 0.3, 0.0], [0.1, 0.3, 1.0, 0.2], [0.2, 0.0, 0.2, 1.0]])
    said = words.partners(alike, [(0, 1), (2, 3)], ["may", "mai", "june", "jun"], "months")
    assert said
    assert said.startswith("Of all 4 words “mai” is nearest to “may”, cosine 0.90; ")
    assert said.endswith("nearest to 1 of 2 words of the months.")
    assert words.partners(alike, [(2, 3)], ["may", "mai", "june", "jun"], "months") is None
    many = [(0, 1), (2, 3), (2, 0), (3, 1)]
    assert words.partners(alike, many, ["may", "mai", "june", "jun"], "months") is None


def test_one_word_at_two_places():
    said = words.twins("2", (2, 8), (1.0, 0.5, 0.4, -0.1))
    assert said == (
        "“2” at places 2 and 8: one word vector, cosine 1.00; with their positions 0.50; after the encoder −0.10."
    )


def test_the_strongest_weight_and_its_place_are_named():
    said = sequences.strongest(torch.tensor([[0.9, 0.1], [0.02, 0.98]]), ["a", "b"], ["c", "d"])
    assert said == "The largest weight is 98 %: “b” at place 2 looks at “d”."


def test_the_two_words_most_alike_are_named():
    alike = torch.tensor([[1.0, 0.2, 0.7], [0.2, 1.0, 0.1], [0.7, 0.1, 1.0]])
    assert words.nearest(alike, ["a", "b", "c"]) == "Of these words “a” and “c” are most alike: cosine 0.70."


def test_a_plane_says_how_little_it_holds():
    assert words.explained(0.12) == (
        "The two components hold 12 % of the variance: most of what tells the words apart is not in this plane."
    )
    assert words.explained(0.6) == "The two components hold 60 % of the variance."
