"""Token norms: quartiles and outliers by hand, and the norms of a model's own features."""

import pytest
import torch
import torch.nn.functional as F

import vizkit
from tests.analysis.test_patches import trace_of
from vizkit.analysis.attention.token_norms import norms_of, token_norms
from vizkit.traces import Features, NotApplicable, Tokens


def test_outliers_by_hand():
    # Patches 1 2 3 4 100: median 3, deviations 2 1 0 1 97, MAD 1; the class token of length 50 is no patch.
    values = torch.zeros(6, 3)
    values[:, 1] = torch.tensor([50.0, 1, 2, 3, 4, 100])
    found = norms_of(Features("f", values, Tokens("patches", ("cls",), (1, 5))))
    assert (found.lower, found.median, found.upper, found.threshold) == (2, 3, 4, 8)
    assert found.special == {"cls": 50}
    assert found.patches.tolist() == [1, 2, 3, 4, 100]
    assert found.norms.tolist() == [50, 1, 2, 3, 4, 100]
    assert found.outliers.tolist() == [False, False, False, False, False, True]
    assert (
        norms_of(Features("f", values, Tokens("patches", ("cls",), (1, 5))), k=0.5).outliers.tolist()[-2:] == [True] * 2
    )


def test_equal_lengths_have_no_outliers():
    torch.manual_seed(0)
    unit = F.normalize(torch.randn(35, 11), dim=1)
    assert not norms_of(Features("f", unit, Tokens("patches", (), (5, 7)))).outliers.any()


def test_norms_of_a_model(vit, photo):
    trace = vizkit.trace(vit, photo)
    found = token_norms(trace)
    assert len(found) == 6
    for one, features in zip(found, trace.features, strict=True):
        torch.testing.assert_close(one.norms, (features.values**2).sum(1).sqrt())
    with pytest.raises(NotApplicable):
        token_norms(trace_of())
