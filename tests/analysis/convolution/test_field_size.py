"""How large a field is, by hand."""

import pytest
import torch

from vizkit.analysis.convolution.field_size import side_holding


def test_the_square_that_holds_a_share():
    share = torch.zeros(7, 11)
    share[3, 5] = 0.5  # the middle of the middle pixel: (3.5, 5.5)
    share[3, 4] = share[2, 5] = 0.2
    share[6, 5] = 0.1
    assert side_holding(share, (3.5, 5.5), 0.45) == 1
    assert side_holding(share, (3.5, 5.5), 0.68) == 3
    assert side_holding(share, (3.5, 5.5), 0.95) == 7
    assert side_holding(share, (2.5, 5.5), 0.2) == 1  # another middle


def test_an_even_map_needs_its_share_of_the_area():
    assert side_holding(torch.ones(101, 101), (50.5, 50.5), 0.25) == pytest.approx(51, abs=1)
