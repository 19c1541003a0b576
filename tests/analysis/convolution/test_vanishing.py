"""Gradients through many layers: by hand for one layer, and what residuals and norms are known to do."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from vizkit.analysis.convolution.vanishing import Network, gradient_norms, last_by_depth

DEEP = Network(depth=30, activation="sigmoid")


def kept(network):
    norms = gradient_norms(network)
    assert norms.shape == (network.depth,)
    assert bool(norms.isfinite().all())
    return float(norms[0] / norms[-1])


@pytest.mark.parametrize("kind", ["MLP", "CNN"])
def test_sigmoids_lose_the_gradient_and_relu_keeps_it(kind):
    sigmoid, relu = (kept(replace(DEEP, kind=kind, activation=name)) for name in ("sigmoid", "ReLU"))
    assert sigmoid < 0.25**20  # σ' ≤ ¼, and the weights of variance 1 / fan-in hardly stretch
    assert relu > 1e-3


def test_a_residual_and_a_norm_bring_it_back():
    assert kept(replace(DEEP, residual=True)) > 0.01
    assert kept(replace(DEEP, norm="BatchNorm")) > 1e6 * kept(DEEP)
    relu = replace(DEEP, activation="ReLU", norm="BatchNorm")
    for network in (relu, replace(relu, pre=False)):  # alone, a norm lets gradients grow (Yang et al. 2019)
        assert kept(network) > 10 * kept(replace(network, residual=True)) > 10


@pytest.mark.parametrize("kind", ["MLP", "CNN"])
def test_the_last_gradient_falls_with_the_root_of_the_depth_before_a_norm_and_stays_after_it(kind):
    network = Network(kind, activation="ReLU", residual=True, norm="LayerNorm")
    pre, post = (last_by_depth(replace(network, pre=place), (4, 36)) for place in (True, False))
    assert float(pre[1] / pre[0]) == pytest.approx(1 / 3, rel=0.3)
    assert float(post[1] / post[0]) == pytest.approx(1, rel=0.3)
    single = [gradient_norms(replace(network, depth=4), seed)[-1] for seed in range(3)]
    assert float(pre[0]) == pytest.approx(float(sum(single) / 3))


@pytest.mark.parametrize("kind, norm", [("MLP", "LayerNorm"), ("CNN", "BatchNorm")])
def test_without_residuals_the_place_of_a_norm_hardly_matters(kind, norm):
    """norm, W, f, norm, W, f, … norm is one chain from either end; with a residual it is not."""
    pre, post = (gradient_norms(Network(kind, 12, "ReLU", norm=norm, pre=place)) for place in (True, False))
    assert_close(pre, post, rtol=0.25, atol=0)
    pre, post = (gradient_norms(Network(kind, 12, "ReLU", True, norm, place)) for place in (True, False))
    assert float((post / pre).max()) > 2


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    assert torch.equal(gradient_norms(DEEP, 3), gradient_norms(DEEP, 3))
    assert not torch.equal(gradient_norms(DEEP, 3), gradient_norms(DEEP, 4))
