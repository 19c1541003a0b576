"""How large a field is, by hand."""

import pytest
import torch

from vizkit.analysis.convolution.field_size import side_holding
from vizkit.analysis.remarks.convolution import field_used


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


def test_the_sentence_names_field_square_and_share():
    remark = field_used("S4", 16, 8.0, 32, 0.68)
    assert remark == (
        "The marked unit of S4 can see 16 × 16 pixels, but 68 % of what changes it lies in the 8 × 8 pixels "
        "around its middle: 25 % of its field."
    )
    assert "more than the image has" in field_used("stage 4", 427, 112.0, 224, 0.68)
    assert field_used("stage 1", 5, 5.0, 32, 0.68) is None
