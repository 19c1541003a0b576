"""Attention weighted by what is passed on: a large weight on a short vector moves little.

Kobayashi et al. 2020 (arXiv 2004.10102), eq. 5: ‖α_ij f(x_j)‖₂ with f(x) = (x W_V + b_V) W_O for each head. The bias of
the output projection belongs to no pair and is left out, and so are the residual connection and the normalisation.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def transformed(
    value: Float[Tensor, "head key width"], projection: Float[Tensor, "out channel"]
) -> Float[Tensor, "head key out"]:
    """f(x_j) of every head: its values through its columns of the output projection, (out, head·width) as in torch."""
    heads, _, width = value.shape
    columns = projection.unflatten(1, (heads, width))  # out head width
    return torch.einsum("hkw,ohw->hko", value, columns)


def value_weighted(
    weights: Float[Tensor, "head query key"],
    value: Float[Tensor, "head key width"],
    projection: Float[Tensor, "out channel"],
) -> Float[Tensor, "head query key"]:
    """‖α_ij f(x_j)‖₂ = α_ij ‖f(x_j)‖₂ for each head: how much of the output comes from where. Not normalised, ≥ 0."""
    return weights * transformed(value, projection).norm(dim=-1)[:, None]
