"""Where a number of a convolution comes from: the shares of the channels sum to PyTorch's number."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F

from vizkit.analysis.convolution.origin import origin

OPTIONS = [
    {"stride": 2, "padding": 1},
    {"stride": (1, 3), "padding": (2, 0), "dilation": (1, 2)},
    {"padding": "same", "dilation": 3},
    {"groups": 3, "padding": "valid"},
    {"groups": 6},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_shares_and_the_bias_sum_to_pytorchs_number(options):
    torch.manual_seed(0)
    groups = options.get("groups", 1)
    arguments = {
        "input": torch.randn(1, 6, 13, 17),
        "weight": torch.randn(12, 6 // groups, 3, 4 if "same" not in str(options) else 3),
        "bias": torch.randn(12),
    } | options
    expected = F.conv2d(**arguments)[0]
    for unit in product((0, 5, 11), (0, expected.shape[1] - 1), (0, 2, expected.shape[2] - 1)):
        result = origin(arguments, unit)
        assert result.value == pytest.approx(float(expected[unit]), abs=1e-5)
        assert len(result.shares) == 6 // groups
        assert int(result.channels[0]) == unit[0] // (12 // groups) * (6 // groups)
