"""The sentences above masks, by hand."""

import torch

from vizkit.analysis.attention.walkthrough import SENTENCE_WEIGHTS
from vizkit.analysis.remarks import sequences
from vizkit.analysis.sequences.masks import allowed, masked

WEIGHTS = torch.tensor(SENTENCE_WEIGHTS)


def test_rows_masked_after_the_softmax():
    said = sequences.rows(masked(WEIGHTS, allowed("causal", 6, 6)))
    assert said.startswith("Masked after the softmax, 5 rows sum to less than 1, the first to 0.268;")
    assert sequences.rows(masked(WEIGHTS / WEIGHTS.sum(-1, keepdim=True), allowed("none", 6, 6))) is None


def test_hidden_words():
    assert sequences.guessed([], [], []) is None
    right, wrong = sequences.guessed(["may"], ["may"], [0.9]), sequences.guessed(["may"], ["june"], [0.6])
    assert right == "The guess “may”, with 90 %, is right."
    assert wrong == "The guess “june”, with 60 %, is wrong: it was “may”."
    two = sequences.guessed(["may", "2"], ["june", "2"], [0.6, 1.0])
    assert two == "Right at first guess: 1 of 2 hidden words; missed: “may”."


def test_the_next_word():
    assert sequences.certain("2", 0.999, "1", "") == "Most probable next: “2”, more than 99 %."
    assert sequences.certain("2", 0.5, "1", "2") == "Most probable next: “2”, 50 %, before “1”, which is right."
    assert sequences.certain("2", 0.5, "1", "3") == "Most probable next: “2”, 50 %, before “1”; right is “3”."


def test_the_strongest_weight_and_its_place_are_named():
    said = sequences.strongest(torch.tensor([[0.9, 0.1], [0.02, 0.98]]), ["a", "b"], ["c", "d"])
    assert said == "The largest weight: “b” looks most at “d”, 98 %."
