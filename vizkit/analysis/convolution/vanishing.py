"""How gradients shrink or grow on their way back through many layers, measured on small networks with random weights.

Hochreiter 1991; Glorot & Bengio 2010; residuals: He et al. 2015; pre-norm and post-norm: Xiong et al. 2020.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.convolution.activations import ACTIVATIONS

Kind = Literal["MLP", "CNN"]
NormName = Literal["none", "LayerNorm", "BatchNorm"]
WIDTH, CHANNELS, SIDE_PX, BATCH, CLASSES = 64, 8, 8, 32, 10
SATURATING = ("sigmoid", "tanh")
EPS = 1e-5


@dataclass(frozen=True)
class Network:
    """`depth` equal layers and a linear classifier. A layer is f(x) = activation(W x + b), with `residual` x + f(x);
    a norm comes before W (`pre`) and once more before the classifier, as in ViT, or after everything (post-norm)."""

    kind: Kind = "MLP"
    depth: int = 20
    activation: str = "ReLU"
    residual: bool = False
    norm: NormName = "none"
    pre: bool = True


def gradient_norms(network: Network, seed: int = 0, *, first: int = 0) -> Float[Tensor, " layer"]:
    """‖∂loss/∂W‖₂ of every layer from `first` on, 0 being next to the input, for random inputs and classes.

    Weights have the variance 2 / fan-in (He), for sigmoid and tanh 1 / fan-in (Xavier); float64, so that 1e−300 is not
    0. It shows the beginning of a training, not its course.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (WIDTH, WIDTH) if network.kind == "MLP" else (CHANNELS, CHANNELS, 3, 3)
    fan_in = WIDTH if network.kind == "MLP" else 9 * CHANNELS
    variance = (1 if network.activation in SATURATING else 2) / fan_in
    weights = [_normal(generator, *shape).mul(variance**0.5) for _ in range(network.depth)]
    learned = [weight.requires_grad_() for weight in weights[first:]]
    head = _normal(generator, CLASSES, WIDTH if network.kind == "MLP" else CHANNELS) / shape[0] ** 0.5
    x = _normal(generator, BATCH, *((WIDTH,) if network.kind == "MLP" else (CHANNELS, SIDE_PX, SIDE_PX)))
    for weight in weights:
        x = _layer(x, weight, network)
    x = _norm(x, network.norm) if network.pre else x
    pooled = x if x.dim() == 2 else x.mean((2, 3))
    labels = torch.randint(CLASSES, (BATCH,), generator=generator)
    gradients = torch.autograd.grad(F.cross_entropy(pooled @ head.T, labels), learned)
    return torch.stack([gradient.norm() for gradient in gradients])


def last_by_depth(network: Network, depths: Sequence[int], seeds: int = 3) -> Float[Tensor, " depth"]:
    """‖∂loss/∂W‖₂ of the last layer of networks of so many layers, a mean over seeds.

    Of transformers with residuals Xiong et al. 2020 (arXiv 2002.04745, theorem 1) show that it does not depend on the
    depth L with post-norm, and is of the order 1/√L with pre-norm.
    """

    def last(depth: int) -> Tensor:
        deep = replace(network, depth=depth)
        return torch.cat([gradient_norms(deep, seed, first=depth - 1) for seed in range(seeds)]).mean()

    return torch.stack([last(depth) for depth in depths])


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _layer(x: Tensor, weight: Tensor, network: Network) -> Tensor:
    inner = _norm(x, network.norm) if network.pre else x
    inner = F.linear(inner, weight) if x.dim() == 2 else F.conv2d(inner, weight, padding=1)
    out = ACTIVATIONS[network.activation].function(inner)
    out = x + out if network.residual else out
    return out if network.pre else _norm(out, network.norm)


def _norm(x: Tensor, norm: NormName) -> Tensor:
    """Without learned scale and shift, as at the beginning of a training. LayerNorm: over the channels of a place."""
    if norm == "none":
        return x
    if norm == "BatchNorm":
        return F.batch_norm(x, None, None, training=True, eps=EPS)
    return (x - x.mean(1, keepdim=True)) / (x.var(1, unbiased=False, keepdim=True) + EPS).sqrt()
