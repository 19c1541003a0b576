"""How two streams become one: the alignment of their tokens, the share α, and the attention that mixes their scores.

S = α·S_fine + (1 − α)·S_coarse, O = softmax(S / √d_k)·V_fine. See `dual_scale`, which puts the parts together.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from timm.layers import Attention
from timm.models.vision_transformer import Block
from torch import Tensor, nn

from vizkit.geometry import window_ids

Stream = Float[Tensor, "image token channel"]


def alignment(fine_grid: tuple[int, int], ratio: int) -> Int[Tensor, "coarse fine"]:
    """For every coarse patch, row by row, the ids of the ratio² fine patches inside it, counted row by row from 0."""
    return window_ids(fine_grid, (ratio, ratio))


class Balance(nn.Module):
    """α, the share of the fine scores, 0 to 1: a fixed number, or the sigmoid of a free parameter."""

    def __init__(self, alpha: float, learned: bool) -> None:
        super().__init__()
        if not (0 < alpha < 1 if learned else 0 <= alpha <= 1):
            raise ValueError(f"α lies from 0 to 1, strictly between them where it is learned; {alpha} does not.")
        self.fixed = alpha
        self.free = nn.Parameter(torch.tensor(alpha).logit()) if learned else None

    def forward(self) -> Tensor | float:
        return self.fixed if self.free is None else self.free.sigmoid()


class MergedAttention(Attention):
    """The scores of two streams mixed before the softmax; no weight more than in plain attention."""

    def query_key(self, x: Stream) -> tuple[Tensor, Tensor]:
        """Both as (image, head, token, d_k)."""
        both = self.projected(x, slice(0, 2 * self.attn_dim)).unflatten(-1, (2, self.num_heads, self.head_dim))
        query, key = both.permute(2, 0, 3, 1, 4)
        return query, key

    def values(self, x: Stream) -> Float[Tensor, "image head token width"]:
        value = self.projected(x, slice(2 * self.attn_dim, None))
        return value.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def projected(self, x: Stream, rows: slice) -> Float[Tensor, "image token channels"]:
        """x times some rows of timm's `qkv`, in which W_Q, W_K and W_V follow each other."""
        bias = None if self.qkv.bias is None else self.qkv.bias[rows]
        return nn.functional.linear(x, self.qkv.weight[rows], bias)

    def scores(self, x: Stream) -> Float[Tensor, "image head query key"]:
        """Q Kᵀ of one stream, not yet scaled."""
        query, key = self.query_key(x)
        return query @ key.transpose(-2, -1)

    def forward(self, fine: Stream, coarse: Stream, alpha: Tensor | float) -> Stream:
        coarse_scores = self.scores(coarse)  # first, so that what went in last is what the values come from
        scores = alpha * self.scores(fine) + (1 - alpha) * coarse_scores
        weights = self.attn_drop((scores * self.scale).softmax(-1))
        mixed = (weights @ self.values(fine)).transpose(1, 2).flatten(2)  # heads side by side again
        return self.proj_drop(self.proj(mixed))


class MergingBlock(Block):
    """timm's block, fed with two streams: one comes out."""

    def forward(self, fine: Stream, coarse: Stream, alpha: Tensor | float) -> Stream:
        mixed = self.attn(self.norm1(fine), self.norm1(coarse), alpha)
        fine = fine + self.drop_path1(self.ls1(mixed))
        return fine + self.drop_path2(self.ls2(self.mlp(self.norm2(fine))))


def block_of(merge_block: int, depth: int, **options: Any) -> Block:
    """timm gives every block its index from 0, and calls it depth."""
    if depth + 1 == merge_block:
        return MergingBlock(**{**options, "attn_layer": MergedAttention}, depth=depth)
    return Block(**options, depth=depth)
