"""Gradients through many layers: by hand for one layer, and what residuals and norms are known to do."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from vizkit.analysis.convolution.vanishing import Network, gradient_norms
from vizkit.analysis.remarks.convolution import vanished

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


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    assert torch.equal(gradient_norms(DEEP, 3), gradient_norms(DEEP, 3))
    assert not torch.equal(gradient_norms(DEEP, 3), gradient_norms(DEEP, 4))


def test_the_sentence_names_both_ends():
    remark = vanished({"sigmoid": np.array([3e-9, 1.0]), "ReLU": np.array([0.5, 1.0])})
    assert remark is not None
    assert remark.words == ("With sigmoid the first layer's gradient is 3 × 10⁻⁹ times the last one's, with ReLU "
                            "0.5 times.")  # fmt: skip
    assert vanished({}) is None
