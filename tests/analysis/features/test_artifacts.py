"""Artifacts by two gates, on norms made up by hand."""

import math

import pytest
import torch

from vizkit.analysis.attention.token_norms import norms_of
from vizkit.analysis.features.artifacts import OVERLAP, artifacts, overlap, strongest
from vizkit.analysis.remarks.features import of_artifacts, of_register
from vizkit.traces import Features, Tokens
from vizkit.views.features.xray import in_medians

USUAL = [0.9, 1.0, 1.0, 1.1, 1.0] * 8


def layer(*long, usual=USUAL):
    values = torch.tensor([50.0, *usual, *long])[:, None]
    return norms_of(Features("", values, Tokens("", ("cls",), (1, len(values) - 1))))


def test_the_overlap_is_that_of_two_normal_distributions():
    """Means 0 and 4, deviation 1: 2 Φ(−2) = 0.0455."""
    assert overlap(torch.tensor([-1.0, 1.0]), torch.tensor([3.0, 5.0])) == pytest.approx(0.0455, abs=1e-4)
    grid = torch.linspace(-8, 12, 20_001)
    shared = torch.minimum(*(torch.exp(-0.5 * (grid - mean) ** 2) / math.sqrt(2 * math.pi) for mean in (0.0, 4.0)))
    assert overlap(torch.tensor([-1.0, 1.0]), torch.tensor([3.0, 5.0])) == pytest.approx(
        float(torch.trapezoid(shared, grid)), abs=1e-6
    )
    assert overlap(torch.ones(3), torch.ones(2)) == overlap(torch.ones(3), torch.ones(0)) == 1.0


def test_a_few_long_patches_are_artifacts_and_a_long_class_token_is_none():
    found = artifacts(layer(9.0, 8.0))
    assert found.mask.tolist() == [False] * 40 + [True] * 2
    assert found.overlap < OVERLAP
    assert found.times == pytest.approx(9.0)
    assert artifacts(layer()).count == 0


def test_each_gate_can_refuse():
    assert artifacts(layer(1.9)).count == 0, "not twice the median"
    assert artifacts(layer(*[9.0] * 5)).count == 0, "more than a tenth"
    tail = layer(2.2, usual=[0.2, 0.4, 1.9, 1.95, *[1.0] * 30])
    assert int(tail.outliers.sum()) == 1
    assert artifacts(tail).overlap > OVERLAP
    assert artifacts(tail).count == 0, "the end of a wide distribution, no group of its own"


def test_the_layer_is_that_of_artifacts_before_that_of_a_long_patch():
    wide = artifacts(layer(*[20.0] * 8))
    assert strongest([artifacts(layer()), artifacts(layer(3.0)), artifacts(layer(9.0)), wide]) == 2
    assert strongest([artifacts(layer(1.2)), artifacts(layer(1.5))]) == 1


def test_norms_without_artifacts_fill_a_part_of_the_scale_only():
    even, long = in_medians([torch.tensor([0.8, 1.0, 1.3])]), in_medians([torch.tensor([1.0, 9.0])])
    assert (even.low, even.top) == (0, 2)
    assert (long.low, long.top) == (0, 9)


def test_the_sentences():
    assert of_artifacts([0, 0], 1, 1.44, 196, None) == (
        "No artifacts here: no patch of 196 has a norm far above all others, in any layer; after layer 2 of 2, the "
        "largest norm is 1.4 times the median."
    )
    assert of_artifacts([0, 3, 1, 0], 1, 9.0, 196, (1, 4, 30.21, 0.0)) == (
        "3 of 196 patches are artifacts (in layers 2 to 3): after layer 2 of 4, the largest norm is 9.0 times the "
        "median; neuron 5 of block 2 is strongest at them (30.2; elsewhere 0)."
    )
    assert of_artifacts([1, 0, 1], 0, 2.5, 9, None).startswith(
        "1 of 9 patches is an artifact (in 2 of the layers 1 to 3)"
    )
    assert of_register(10, 5, [9.4, 1.6], [3, 0], [0.3, 0.02]) == (
        "With 10 neurons in the register, the largest norm after layer 5 is 1.6 instead of 9.4 times the median, "
        "there are 0 artifacts instead of 3, and 2 % instead of 30 % of the attention in the last layer goes to where "
        "they were."
    )
