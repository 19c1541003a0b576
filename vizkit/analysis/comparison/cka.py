"""How alike layers represent the same images: linear centred kernel alignment from minibatches.

CKA: Kornblith et al. 2019 (arXiv 1905.00414). HSIC₁, the unbiased estimator, averaged over minibatches: Nguyen et al.
2021 (arXiv 2010.15327), eq. 3, after Song et al. 2012. Used to compare ViTs and CNNs by Raghu et al. 2021 (arXiv
2108.08810), § 3. With X a layer's features, a row for each image, the kernel is K = X Xᵀ.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.traces import NotApplicable

LEAST = 4  # pictures of a batch: the estimator divides by n − 3


def gram(features: Float[Tensor, "image feature"]) -> Float[Tensor, "image image"]:
    """X Xᵀ in double precision, of features that are centred first: HSIC does not see the shift, rounding does."""
    x = features.double()
    x = x - x.mean(0)
    return x @ x.T


def hsic(grams: Sequence[Float[Tensor, "image image"]]) -> Float[Tensor, "layer layer2"]:
    """HSIC₁ of every pair of layers, from their kernels of one batch; can be below zero.

    1 / (n (n − 3)) · [tr(K̃ L̃) + 1ᵀK̃1 · 1ᵀL̃1 / ((n − 1)(n − 2)) − 2 / (n − 2) · 1ᵀK̃ L̃1], K̃ and L̃ with zeros on the
    diagonal. Raises NotApplicable for fewer than four images.
    """
    n = len(grams[0])
    if n < LEAST:
        raise NotApplicable(f"Layers are compared over batches of at least {LEAST} images, not {n}.")
    kernels = torch.stack([*grams])
    kernels = kernels * (1 - torch.eye(n, device=kernels.device))
    rows = kernels.sum(-1)  # K̃1
    totals = rows.sum(-1)
    traces = torch.einsum("aij,bij->ab", kernels, kernels)  # K̃ is symmetric
    products = torch.outer(totals, totals) / ((n - 1) * (n - 2))
    return (traces + products - 2 / (n - 2) * rows @ rows.T) / (n * (n - 3))


def alignment(mean: Float[Tensor, "layer layer2"]) -> Float[Tensor, "layer layer2"]:
    """CKA of every pair from HSIC₁, averaged over batches: 1 on the diagonal. NaN for a layer that is the same for all
    images."""
    own = mean.diagonal().clamp(min=0).sqrt()
    return mean / torch.outer(own, own).where(torch.outer(own, own) > 0, torch.nan)
