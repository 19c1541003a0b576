"""The sentences below masks and words, by hand."""

import torch

from vizkit.analysis.attention.walkthrough import SENTENCE_WEIGHTS
from vizkit.analysis.remarks import masks
from vizkit.analysis.sequences.masks import allowed, masked

WEIGHTS = torch.tensor(SENTENCE_WEIGHTS)


def test_rows_masked_after_the_softmax():
    said = masks.rows(masked(WEIGHTS, allowed("causal", 6, 6)))
    assert said
    assert said.words.startswith("Masked after the softmax, 5 rows sum to less than 1, the first to 0.268;")
    assert masks.rows(masked(WEIGHTS / WEIGHTS.sum(-1, keepdim=True), allowed("none", 6, 6))) is None


def test_hidden_words():
    assert masks.guessed([], [], []) is None
    right, wrong = masks.guessed(["may"], ["may"], [0.9]), masks.guessed(["may"], ["june"], [0.6])
    assert right
    assert right.words == "The guess “may”, with 90 %, is right."
    assert wrong
    assert wrong.words == "The guess “june”, with 60 %, is wrong: it was “may”."
    two = masks.guessed(["may", "2"], ["june", "2"], [0.6, 1.0])
    assert two
    assert two.words == "Right at first guess: 1 of 2 hidden words; missed: “may”."


def test_the_next_word():
    assert masks.certain("2", 0.999, "1").words == "Most probable next: “2”, more than 99 %."
    assert masks.certain("2", 0.5, "1").words == "Most probable next: “2”, 50 %, before “1”."
