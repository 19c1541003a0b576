"""The six-word example of the textbooks: masked before and after the softmax, by its printed numbers."""

import pytest
import torch
from torch.testing import assert_close

from vizkit.analysis.attention.walkthrough import SENTENCE_WEIGHTS
from vizkit.analysis.sequences.masks import MASKS, allowed, masked

WEIGHTS = torch.tensor(SENTENCE_WEIGHTS)


def test_the_example_masked_after_the_softmax_loses_weight():
    kept = masked(WEIGHTS, allowed("causal", 6, 6)).kept
    assert kept.tolist() == pytest.approx([0.268, 0.402, 0.541, 0.756, 0.826, 1.0], abs=2e-3)


def test_the_example_masked_before_the_softmax_still_sums_to_one():
    rows = masked(WEIGHTS, allowed("causal", 6, 6)).before
    printed = [[1], [0.308, 0.692], [0.272, 0.244, 0.484], [0.278, 0.169, 0.272, 0.280]]
    for i, row in enumerate(printed):
        assert rows[i, : i + 1].tolist() == pytest.approx(row, abs=2e-3)
    assert (rows.triu(1) == 0).all()
    assert_close(rows.sum(-1), torch.ones(6))


def test_masking_the_scores_is_what_the_weights_of_masked_scores_are():
    """The logarithm of a softmax stands for the scores, whatever the mask."""
    scores, looks = torch.randn(2, 3, 5), torch.rand(3, 5) > 0.4
    looks[0], looks[1:, 0] = False, True
    expected = scores.masked_fill(~looks, float("-inf")).softmax(-1)
    result = masked(scores.softmax(-1), looks)
    assert_close(result.before[:, 1:], expected[:, 1:])
    assert (result.before[:, 0] == 0).all()
    assert_close(result.after, scores.softmax(-1) * looks)


def test_who_looks_at_whom():
    assert allowed("causal", 3, 3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert allowed("causal", 1, 3).all()  # a step with a cache: the query is the last word
    for kind in MASKS:
        assert allowed(kind, 2, 4).shape == (2, 4)
        assert bool(allowed(kind, 4, 4).all()) == (kind != "causal")
