"""Pictures moved by some pixels, by hand."""

import numpy as np
import pytest
import torch
from torch import nn

import vizkit
from vizkit.analysis.convolution.shifting import interval, line
from vizkit.evaluation.shifting import when_moved
from vizkit.image import Preprocessing
from vizkit.models.probes.convolution.shifting import answers_when_moved, moved
from vizkit.models.sources.loaded import Loaded


def test_a_move_repeats_the_border():
    pixels = torch.arange(1.0, 6.0).expand(1, 1, 2, 5)
    assert moved(pixels, 2)[0, 0, 0].tolist() == [1, 1, 1, 2, 3]
    assert moved(pixels, -1)[0, 0, 1].tolist() == [2, 3, 4, 5, 5]
    assert torch.equal(moved(pixels, 0), pixels)


class Summing(nn.Module):
    """Features: the means of the columns (an MLP has nothing else), or of the whole picture, which no move changes."""

    def __init__(self, whole):
        super().__init__()
        self.whole, self.num_classes = whole, 2

    def forward_features(self, x):
        return x.mean((1, 2))

    def forward_head(self, x, pre_logits=False):
        read = x.mean(-1, keepdim=True).expand(-1, 2) if self.whole else x
        return read if pre_logits else read[:, :2]

    def forward(self, x):
        return self.forward_head(self.forward_features(x))


def test_columns_change_where_their_mean_does_not():
    pixels = torch.tensor([0.0, 3, 4, 0, 0]).expand(1, 3, 5, 5)
    needs = Preprocessing(size_hw=(5, 5), mean=(0.0,) * 3, std=(1.0,) * 3)
    for whole, cosine in ((True, 1.0), (False, 12 / 25)):
        loaded = Loaded("toy", Summing(whole), torch.device("cpu"), needs)
        answers = answers_when_moved(loaded, pixels, (0, 1))
        assert answers.cosine[:, 0].tolist() == pytest.approx([1, cosine])
        assert answers.logits.shape == (2, 1, 2)


def test_both_sides_are_one_distance():
    right = np.array([[1, 0], [1, 1], [0, 0]], bool)  # moved by −1, 0, 1
    got = line("toy", (-1, 0, 1), right, right, right.astype(float))
    assert got.distance_px == [0, 1]
    assert got.images == 2
    assert got.right == [1.0, 0.25]  # picture 1: half of its sides, picture 2: none
    assert got.right_half[0] == 0
    assert interval(np.array([0.0, 1.0])) == pytest.approx((0.5, 1.96 * 0.5**0.5 / 2**0.5), rel=1e-4)


def test_the_shipped_numbers_come_from_this_code():
    """Of the fastest model, for the first pictures: those that have to be right are right, nothing else is compared."""
    loaded = vizkit.load("bundled:digits_mlp")
    few = when_moved(loaded, "bundled:digits_mlp", "digits", "test", 40, 2)
    assert few.images == 40
    assert few.distance_px == [0, 1, 2]
    assert few.right[0] >= 0.9
    assert few.same[0] == 1
    assert few.cosine[0] == pytest.approx(1, abs=1e-6)
    assert few.cosine[1] == pytest.approx(0.991, abs=0.005)
    with pytest.raises(ValueError, match="does not know"):
        when_moved(loaded, "bundled:digits_mlp", "insects", "test", 4, 2)
    with pytest.raises(ValueError, match="move by fewer"):
        when_moved(loaded, "bundled:digits_mlp", "digits", "test", 4, 32)
