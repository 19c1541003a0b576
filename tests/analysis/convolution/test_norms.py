"""Norms against PyTorch's own, and which numbers they take together."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from vizkit.analysis.convolution.norms import AXES, normed, together

X = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3 + 1


def by_pytorch(name):
    channels_first = X.transpose(1, 2)
    return {
        "LayerNorm": lambda: F.layer_norm(X, (12,)),
        "BatchNorm": lambda: F.batch_norm(channels_first, None, None, training=True).transpose(1, 2),
        "GroupNorm": lambda: F.group_norm(channels_first, 4).transpose(1, 2),
        "RMSNorm": lambda: F.rms_norm(X, (12,), eps=1e-5),
    }[name]()


@pytest.mark.parametrize("name", AXES)
def test_a_norm_is_pytorchs_and_its_numbers_are_those_taken_together(name):
    result, at = normed(X, name), (1, 3, 7)
    assert_close(result.values, by_pytorch(name))
    mask = together((2, 5, 12), name, at)
    assert mask[at]
    assert int(mask.sum()) == result.count
    mean = 0.0 if name == "RMSNorm" else float(X[mask].mean())
    assert float(result.mean[at]) == pytest.approx(mean)
    assert float(result.std[at]) ** 2 == pytest.approx(float((X[mask] - mean).square().mean()) + 1e-5)


@pytest.mark.parametrize("name", AXES)
def test_only_batchnorm_depends_on_the_other_images(name):
    alone, in_batch = normed(X[:1], name).values[0], normed(X, name).values[0]
    assert torch.allclose(alone, in_batch) == (name != "BatchNorm")
