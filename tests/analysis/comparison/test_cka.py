"""CKA: its golden properties, the estimator against its definition, and minibatches against the whole."""

from itertools import combinations, permutations

import pytest
import torch
from torch.testing import assert_close

from vizkit.analysis.comparison.cka import alignment, gram, hsic
from vizkit.traces import NotApplicable

torch.manual_seed(0)
X, Y = torch.randn(12, 5).double(), torch.randn(12, 7).double()


def cka(x, y):
    return float(alignment(hsic([gram(x), gram(y)]))[0, 1])


def test_alike_to_itself_turned_scaled_and_shifted():
    turned, _ = torch.linalg.qr(torch.randn(5, 5).double())
    assert cka(X, X) == pytest.approx(1)
    assert cka(X, 3 * X @ turned + 7) == pytest.approx(1)
    assert cka(X, Y) == pytest.approx(cka(5 * X @ turned, Y - 2))


def test_an_invertible_map_changes_it():
    stretched = X * torch.tensor([100.0, 1, 1, 1, 1]).double()
    assert cka(X, stretched) < 0.9
    assert cka(X, Y) != pytest.approx(cka(stretched, Y), abs=0.01)


@pytest.mark.parametrize("count", [4, 5])
def test_the_estimator_is_the_mean_over_four_different_pictures(count):
    k, l = gram(X[:count]), gram(Y[:count])  # noqa: E741
    terms = [k[i, j] * (l[i, j] + l[q, r] - 2 * l[i, q]) for i, j, q, r in permutations(range(count), 4)]
    assert float(hsic([k, l])[0, 1]) == pytest.approx(float(torch.stack(terms).mean()))  # Song et al. 2012, eq. 4


def test_the_mean_over_all_batches_is_that_of_the_whole():
    x, y = X[:7], Y[:7]
    whole = hsic([gram(x), gram(y)])
    batches = [hsic([gram(x[[*rows]]), gram(y[[*rows]])]) for rows in combinations(range(7), 5)]
    assert_close(torch.stack(batches).mean(0), whole)


def test_independent_features_are_at_zero_on_average_not_above():
    few = [hsic([gram(torch.randn(6, 40)), gram(torch.randn(6, 40))])[0, 1] for _ in range(400)]
    values = torch.stack(few)
    assert abs(float(values.mean())) < 3 * float(values.std()) / 20
    assert float(values.min()) < 0


def test_what_is_the_same_for_all_pictures_has_no_alignment():
    values = alignment(hsic([gram(torch.ones(5, 2)), gram(X[:5])]))
    assert values[0, 1].isnan()
    with pytest.raises(NotApplicable, match="at least 4"):
        hsic([gram(X[:3])])


def test_an_alignment_is_a_share_of_what_each_layer_has_by_itself():
    """HSIC₁ of a layer can come out below zero: then it has nothing that others could share."""
    values = torch.tensor([[0.25, 0.125, 0.5], [0.125, 0.25, 0.5], [0.5, 0.5, -1.0]])
    found = alignment(values)
    assert found[:2, :2].tolist() == [[1, 0.5], [0.5, 1]]
    assert found[2].isnan().all()
    assert found[:2, 2].isnan().all()
