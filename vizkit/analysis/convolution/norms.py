"""Norms: which numbers of a tensor share a mean and a standard deviation.

BatchNorm (Ioffe & Szegedy 2015), LayerNorm (Ba et al. 2016), GroupNorm (Wu & He 2018), RMSNorm (Zhang & Sennrich 2019);
ĥ = (h − μ) / √(σ² + ε), without the learned scale and shift.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

EPS = 1e-5
AXES = {  # name → what its mean is taken over
    "LayerNorm": "the channels of one token",
    "BatchNorm": "one channel of all tokens and images",
    "GroupNorm": "a group of channels of one image",
    "RMSNorm": "the channels of one token, without a mean",
}


@dataclass(frozen=True)
class Normed:
    """`mean` and `std` are those that every number was normalised with; `count` numbers share them."""

    values: Float[Tensor, "image token channel"]
    mean: Float[Tensor, "image token channel"]
    std: Float[Tensor, "image token channel"]
    count: int


def normed(x: Float[Tensor, "image token channel"], name: str, groups: int = 4) -> Normed:
    """One of AXES over a batch. `groups` of GroupNorm: the largest number up to it that divides the channels."""
    parts = next(number for number in range(groups, 0, -1) if x.shape[2] % number == 0)
    apart = x.unflatten(2, (parts, -1))  # image token part channel
    over = {"LayerNorm": (2, 3), "BatchNorm": (0, 1), "GroupNorm": (1, 3), "RMSNorm": (2, 3)}[name]
    mean = apart.mean(over, keepdim=True) * (name != "RMSNorm")
    std = ((apart - mean).square().mean(over, keepdim=True) + EPS).sqrt()
    values, mean_of_each, std_of_each = (each.expand_as(apart).flatten(2) for each in ((apart - mean) / std, mean, std))
    return Normed(values, mean_of_each, std_of_each, apart.numel() // mean.numel())


def together(
    shape: tuple[int, int, int], name: str, at: tuple[int, int, int], groups: int = 4
) -> Bool[Tensor, "image token channel"]:
    """Which numbers of a tensor of this shape are normalised with the number `at`, (image, token, channel)."""
    images, tokens, channels = (torch.arange(size) for size in shape)
    parts = next(number for number in range(groups, 0, -1) if shape[2] % number == 0)
    size = shape[2] // parts
    alone = {
        "LayerNorm": (images == at[0], tokens == at[1], channels >= 0),
        "BatchNorm": (images >= 0, tokens >= 0, channels == at[2]),
        "GroupNorm": (images == at[0], tokens >= 0, channels // size == at[2] // size),
        "RMSNorm": (images == at[0], tokens == at[1], channels >= 0),
    }[name]
    return alone[0][:, None, None] & alone[1][None, :, None] & alone[2][None, None, :]
