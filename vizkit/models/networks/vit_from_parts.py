"""A vision transformer from its parts, to be read from top to bottom (Dosovitskiy et al. 2020, arXiv 2010.11929).

    image ─→ PatchEmbedding ─→ + positions ─→ EncoderBlock × depth ─→ LayerNorm ─→ class token or mean ─→ Linear
                                              └ MultiHeadSelfAttention, MLP

Nothing is fused: every step of a formula is a line of code. `named_vits.py` has the usual sizes, and timm's weights.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.networks.positions import sinusoids
from vizkit.models.networks.sizes import refuse_size, sides
from vizkit.models.networks.timm_protocol import TimmProtocol

Pixels = Float[Tensor, "image channel height width"]
Stream = Float[Tensor, "image token dim"]


class PatchEmbedding(nn.Module):
    """The image cut into P × P patches, row by row, each made a token by one linear layer: N = (H/P)·(W/P) tokens.

    The linear layer on the P²·C numbers of a patch is written as a convolution whose kernel and stride are P.
    """

    def __init__(self, size_hw: tuple[int, int], patch: int, channels: int, dim: int) -> None:
        super().__init__()
        refuse_size(size_hw, (patch, patch))
        self.grid_size = (size_hw[0] // patch, size_hw[1] // patch)
        self.proj = nn.Conv2d(channels, dim, kernel_size=patch, stride=patch)

    def forward(self, pixels: Pixels) -> Stream:
        grid = self.proj(pixels)  # image dim row column
        return grid.flatten(2).transpose(1, 2)  # image token dim


class ConvStem(nn.Module):
    """A small CNN instead of the patches' one linear layer (Xiao et al. 2021, arXiv 2106.14881): 3×3 convolutions
    that halve the grid until a cell is as large as a patch, then a linear layer on every cell. Cells see across the
    edges of their patch.
    """

    def __init__(self, size_hw: tuple[int, int], patch: int, channels: int, dim: int) -> None:
        super().__init__()
        refuse_size(size_hw, (patch, patch))
        halvings = int(math.log2(patch))
        if 2**halvings != patch:
            raise ValueError(f"A stem that halves the image makes cells of 2, 4, 8 … pixels, not of {patch}.")
        self.grid_size = (size_hw[0] // patch, size_hw[1] // patch)
        widths = [channels, *(dim // 2 ** (halvings - i) for i in range(1, halvings + 1))]
        layers = []
        for before, after in pairwise(widths):
            convolution = nn.Conv2d(before, after, kernel_size=3, stride=2, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers)
        self.to_tokens = nn.Conv2d(widths[-1], dim, kernel_size=1)

    def forward(self, pixels: Pixels) -> Stream:
        return self.to_tokens(self.convolutions(pixels)).flatten(2).transpose(1, 2)


class MultiHeadSelfAttention(nn.Module):
    """softmax(Q Kᵀ / √d_k) V in every head, the heads side by side, times W_O (Vaswani et al. 2017, eq. 1)."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        if dim % heads:
            raise ValueError(f"{heads} heads cannot share {dim} channels evenly.")
        self.num_heads, self.d_k = heads, dim // heads
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x: Stream) -> Stream:
        query, key, value = (self.by_head(layer(x)) for layer in (self.query, self.key, self.value))
        # Without the factor the scores' variance would grow with d_k, and the softmax pick one key (ibid., § 3.2.1).
        scores = (query @ key.transpose(-2, -1)) * self.d_k**-0.5  # image head query key
        weights = scores.softmax(-1)  # every row sums to 1
        mixed = weights @ value  # image head query d_k
        return self.out(mixed.transpose(1, 2).flatten(2))

    def by_head(self, x: Stream) -> Float[Tensor, "image head token d_k"]:
        return x.unflatten(-1, (self.num_heads, self.d_k)).transpose(1, 2)


class MLP(nn.Module):
    """W₂ · GELU(W₁ x + b₁) + b₂, for every token by itself: dim → 4·dim → dim."""

    activation = staticmethod(nn.functional.gelu)

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x: Stream) -> Stream:
        return self.second(self.activation(self.first(x)))


class EncoderBlock(nn.Module):
    """Y = X + MHA(LN(X)), then Y + MLP(LN(Y)): tokens look at each other, then each thinks for itself.

    Normalised before each part ("pre-norm"), so that the sum, the residual stream, runs through untouched.
    """

    def __init__(self, dim: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(dim, eps=1e-6), MultiHeadSelfAttention(dim, heads)
        self.norm2, self.mlp = nn.LayerNorm(dim, eps=1e-6), MLP(dim, hidden)

    def forward(self, x: Stream) -> Stream:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ScaledEncoderBlock(EncoderBlock):
    """Y = X + γ₁ ⊙ MHA(LN(X)), then Y + γ₂ ⊙ MLP(LN(Y)): "LayerScale", a learned factor for every channel, small at
    first, with which deep ViTs train better (Touvron et al. 2021, arXiv 2103.17239, eq. 4)."""

    def __init__(self, dim: int, heads: int, hidden: int) -> None:
        super().__init__(dim, heads, hidden)
        self.scale1, self.scale2 = nn.Parameter(torch.full((dim,), 1e-5)), nn.Parameter(torch.full((dim,), 1e-5))

    def forward(self, x: Stream) -> Stream:
        x = x + self.scale1 * self.attn(self.norm1(x))
        return x + self.scale2 * self.mlp(self.norm2(x))


class ViT(TimmProtocol):
    """Images to logits. `pool`: "cls" reads the class token, "mean" the mean of all patches (then there is no class
    token). `positions`: a "learned" table, or "sinusoidal", computed once, with a row for the class token too. `stem`:
    "patches" or "conv". `layer_scale`: blocks of the scaled kind.
    """

    def __init__(
        self,
        img_size: int | Sequence[int] = 224,
        patch_size: int = 16,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: int = 768,
        depth: int = 12,
        num_heads: int = 12,
        mlp_ratio: float = 4.0,
        pool: Literal["cls", "mean"] = "cls",
        positions: Literal["learned", "sinusoidal"] = "learned",
        stem: Literal["patches", "conv"] = "patches",
        layer_scale: bool = False,
    ) -> None:
        super().__init__(embed_dim, depth, num_classes, in_chans, patch_size)
        embedding = {"patches": PatchEmbedding, "conv": ConvStem}[stem]
        self.patch_embed = embedding(sides(img_size), patch_size, in_chans, embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim)) if pool == "cls" else None
        self.num_prefix_tokens = 1 if pool == "cls" else 0
        rows, columns = self.patch_embed.grid_size
        count = self.num_prefix_tokens + rows * columns
        if positions == "learned":
            self.pos_embed = nn.Parameter(torch.randn(1, count, embed_dim) * 0.02)
        else:
            self.register_buffer("pos_embed", sinusoids(count, embed_dim)[None], persistent=False)
        hidden, block = int(mlp_ratio * embed_dim), ScaledEncoderBlock if layer_scale else EncoderBlock
        self.blocks = nn.Sequential(*(block(embed_dim, num_heads, hidden) for _ in range(depth)))
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, num_classes) if num_classes else nn.Identity()
        self.apply(_small_weights)

    def embedded(self, pixels: Pixels) -> Stream:
        """Patches as tokens, the class token in front, positions added."""
        x = self.patch_embed(pixels)
        if self.cls_token is not None:
            x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1)
        return x + self.pos_embed

    def forward_features(self, pixels: Pixels) -> Stream:
        return self.norm(self.blocks(self.embedded(pixels)))

    def forward_head(self, x: Stream, pre_logits: bool = False) -> Float[Tensor, "image label"]:
        read = x.mean(1) if self.cls_token is None else x[:, 0]
        return read if pre_logits else self.head(read)

    def forward(self, pixels: Pixels) -> Float[Tensor, "image label"]:
        return self.forward_head(self.forward_features(pixels))


def _small_weights(module: nn.Module) -> None:
    """Linear layers begin with a deviation of 0.02 and no bias, as in timm's ViT."""
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)
