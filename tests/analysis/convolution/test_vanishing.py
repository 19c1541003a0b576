"""Gradients through many layers: by hand for one layer, and what residuals and norms are known to do."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from vizkit.analysis.convolution.vanishing import Network, gradient_norms, last_by_depth
from vizkit.analysis.remarks.convolution import alone, deeper, negative, vanished

DEEP = Network(depth=30, activation="sigmoid")


def kept(network: Network) -> float:
    norms = gradient_norms(network)
    assert norms.shape == (network.depth,)
    assert bool(norms.isfinite().all())
    return float(norms[0] / norms[-1])


@pytest.mark.parametrize("kind", ["MLP", "CNN"])
def test_sigmoids_lose_the_gradient_and_relu_keeps_it(kind: str):
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
def test_the_last_gradient_falls_with_the_root_of_the_depth_before_a_norm_and_stays_after_it(kind: str):
    network = Network(kind, activation="ReLU", residual=True, norm="LayerNorm")
    pre, post = (last_by_depth(replace(network, pre=place), (4, 36)) for place in (True, False))
    assert float(pre[1] / pre[0]) == pytest.approx(1 / 3, rel=0.3)
    assert float(post[1] / post[0]) == pytest.approx(1, rel=0.3)
    single = [gradient_norms(replace(network, depth=4), seed)[-1] for seed in range(3)]
    assert float(pre[0]) == pytest.approx(float(sum(single) / 3))


@pytest.mark.parametrize(("kind", "norm"), [("MLP", "LayerNorm"), ("CNN", "BatchNorm")])
def test_without_residuals_the_place_of_a_norm_hardly_matters(kind: str, norm: str):
    """norm, W, f, norm, W, f, … norm is one chain from either end; with a residual it is not."""
    pre, post = (gradient_norms(Network(kind, 12, "ReLU", norm=norm, pre=place)) for place in (True, False))
    assert_close(pre, post, rtol=0.25, atol=0)
    pre, post = (gradient_norms(Network(kind, 12, "ReLU", True, norm, place)) for place in (True, False))
    assert float((post / pre).max()) > 2


def test_the_sentence_of_depth_says_what_was_measured():
    remark = deeper((4, 16), np.array([1.0, 0.5]), np.array([2.0, 2.2]))
    assert remark is not None
    assert remark == (
        "From 4 to 16 layers the last layer's gradient becomes 0.5 times as large with pre-norm, "
        "where 1/√L would be 0.5 times; with post-norm it stays about as large."
    )
    remark = deeper((4, 16), np.array([1.0, 0.9]), np.array([2.0, 3.0]))
    assert remark is not None
    assert remark.endswith("; with post-norm it becomes 1.5 times as large.")
    assert deeper((4, 16), np.zeros(2), np.ones(2)) is None


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    assert torch.equal(gradient_norms(DEEP, 3), gradient_norms(DEEP, 3))
    assert not torch.equal(gradient_norms(DEEP, 3), gradient_norms(DEEP, 4))


def test_the_sentence_names_both_ends():
    remark = vanished({"sigmoid": np.array([3e-9, 1.0]), "ReLU": np.array([0.5, 1.0])})
    assert remark is not None
    assert remark == ("With sigmoid the first layer's gradient is 3 × 10⁻⁹ times the last one's, with ReLU 0.5 times.")
    assert vanished({}) is None


def test_the_sentences_of_norms_and_activations():
    remark = alone({"LayerNorm": (0.5, 0.5), "BatchNorm": (-0.25, 1.0), "RMSNorm": (2.0, 2.0)}, 3)
    assert remark is not None
    assert remark == (
        "The other 2 images change what BatchNorm gives for this one from −0.25 to 1.00; LayerNorm "
        "and RMSNorm give the same."
    )
    assert "batch of one" in alone({}, 1)
    assert negative([("ReLU", 0.25), ("GELU", 0.75)]) == (
        "GELU 2 is given most numbers below 0, 75 %; ReLU 1 least, 25 %."
    )
