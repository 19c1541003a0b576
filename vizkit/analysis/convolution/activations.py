"""Activation functions with their derivatives.

ReLU (Nair & Hinton 2010), Leaky ReLU (Maas et al. 2013), GELU (Hendrycks & Gimpel 2016), SiLU (Elfwing et al. 2018).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Activation:
    """`formula` in LaTeX."""

    function: Callable[[Tensor], Tensor]
    formula: str


ACTIVATIONS = {
    "ReLU": Activation(F.relu, r"\max(0, x)"),
    "LeakyReLU": Activation(lambda x: F.leaky_relu(x, 0.1), r"\max(0.1\,x, x)"),
    "sigmoid": Activation(torch.sigmoid, r"1 / (1 + e^{-x})"),
    "tanh": Activation(torch.tanh, r"\tanh x"),
    "GELU": Activation(F.gelu, r"x\,\Phi(x)"),
    "SiLU": Activation(F.silu, r"x / (1 + e^{-x})"),
}


def values_and_slopes(name: str, x: Float[Tensor, " point"]) -> tuple[Float[Tensor, " point"], Float[Tensor, " point"]]:
    """(f(x), f'(x)) of one of ACTIVATIONS, the derivative by autograd (0 where ReLU has none)."""
    x = x.detach().clone().requires_grad_()
    y = ACTIVATIONS[name].function(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    return y.detach(), slope
