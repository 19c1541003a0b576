"""What a pass computes, against the same computed by hand."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from vizkit.models.probes.convolution.layers_seen import BINS, Seeing


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 3, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.act = nn.ReLU(inplace=True)
        self.second = nn.Conv2d(3, 5, 1)

    def forward(self, x):
        x = self.act(self.norm(self.first(x)))
        return F.gelu(self.second(x) + 1)  # the sum comes between: GELU does not follow the convolution


def test_convolutions_with_what_follows_them_and_activations():
    torch.manual_seed(0)
    model, x = Small().eval(), torch.randn(1, 2, 7, 11)
    with torch.no_grad(), (seeing := Seeing(model, keep=0)):
        out = model(x)
        plain = model.first(x)
    with torch.no_grad():
        assert_close(out, model(x))
        normed = model.norm(plain)
    first, second, *_ = seeing.convolved
    assert (first.path, first.shape, first.stages) == ("first", (3, 4, 6), ("convolution", "norm", "activation"))
    assert (second.path, second.shape, second.stages) == ("second", (5, 4, 6), ("convolution",))
    assert_close(first.after["convolution"], plain[0])
    assert_close(first.after["norm"], normed[0])  # though ReLU has overwritten it
    assert_close(first.after["activation"], normed[0].relu())
    assert not second.after
    again = F.conv2d(**first.arguments)
    assert_close(again[0], plain[0])
    relu, gelu = seeing.activated
    assert [(each.path, each.name) for each in seeing.activated] == [("act", "ReLU"), ("", "GELU")]
    assert float(relu.counts.sum()) == 3 * 4 * 6
    assert len(gelu.counts) == BINS
    assert relu.negative == float((normed < 0).float().mean())


def test_what_lies_beyond_the_bins_is_in_the_last_ones():
    model = torch.nn.Sequential(torch.nn.ReLU())
    seeing = Seeing(model)
    with seeing:
        model(torch.tensor([-100.0, -6.5, -0.05, 0.05, 7.0, 8.0, 9.0]))
    (layer,) = seeing.activated
    assert layer.counts.sum() == 7
    assert (float(layer.counts[0]), float(layer.counts[-1])) == (2, 3)
    assert layer.negative == pytest.approx(3 / 7)
