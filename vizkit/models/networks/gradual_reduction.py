"""Gradual-reduction ViT: many small patches at first, and half as many tokens after every few blocks.

Proposed in a thesis (Badzohreh 2024) without code; this is our reading of it. Patches of 8×8 pixels; after blocks 3, 6
and 9 neighbouring tokens are averaged in pairs, special tokens are not. At 224² that is 785 → 393 → 197 → 99 tokens. No
weight depends on the number of tokens, so the model has exactly the parameters of a plain ViT, and each step divides
the cost of attention by four.

Where the source is silent: which neighbours. Pairs of the flat sequence would, at the third step of a 28×28 grid, join
the end of one row with the beginning of the next (7 is odd). Ours are neighbours on the grid, by turns left and right,
and above and below, so that a token always stands for one rectangle: 8×16, 16×16, 16×32 pixels.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from timm.models import generate_default_cfgs
from timm.models.vision_transformer import VisionTransformer, checkpoint_filter_fn
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from vizkit.models.networks.sizes import config, refuse_size, register, sides
from vizkit.models.networks.timm_protocol import BlockByBlock

Grid = tuple[int, int]
Stream = Float[Tensor, "image token channel"]


def _windows(times: int) -> list[Grid]:
    """(rows, columns) of the neighbours that the first `times` reductions average: (1, 2), (2, 1), (1, 2) …"""
    return [(1, 2) if i % 2 == 0 else (2, 1) for i in range(times)]


def grids(grid: Grid, times: int) -> list[Grid]:
    """The grid before the first reduction and after each; the reductions have to divide it."""
    sizes = [grid]
    for rows, columns in _windows(times):
        sizes.append((sizes[-1][0] // rows, sizes[-1][1] // columns))
    return sizes


def averaged(x: Stream, grid: Grid, window: Grid, special: int) -> Float[Tensor, "image fewer channel"]:
    """The mean of every `window` of neighbours; the first `special` tokens pass untouched."""
    rows, columns = grid[0] // window[0], grid[1] // window[1]
    places = x[:, special:].unflatten(1, (rows, window[0], columns, window[1])).mean((2, 4)).flatten(1, 2)
    return torch.cat([x[:, :special], places], 1)


class GradualReduction(BlockByBlock, VisionTransformer):
    """timm's ViT, whose blocks see fewer and fewer tokens. `reduce_after`: after which blocks, counted from 1, tokens
    are averaged; () makes it a plain ViT. The image divides into `step_hw` pixels.
    """

    def __init__(
        self,
        img_size: int | Sequence[int] = 224,
        patch_size: int = 8,
        depth: int = 12,
        reduce_after: Sequence[int] = (3, 6, 9),
        grad_checkpointing: bool = False,
        **options: Any,
    ) -> None:
        after = tuple(reduce_after)
        if list(after) != sorted({*after} & {*range(1, depth + 1)}):
            raise ValueError(f"Reductions come after different blocks of 1 to {depth}, in order; not after {after}.")
        if options.get("patch_drop_rate"):
            raise ValueError("Patches that are left out have no neighbours to be averaged with; set patch_drop_rate 0.")
        rows, columns = (math.prod(side) for side in zip((1, 1), *_windows(len(after)), strict=True))
        step_hw = (patch_size * rows, patch_size * columns)
        refuse_size(sides(img_size), step_hw)
        super().__init__(img_size=sides(img_size), patch_size=patch_size, depth=depth, **options)
        self.reduce_after = after
        self.step_hw, self.step_px = step_hw, max(step_hw)
        self.grad_checkpointing = grad_checkpointing
        for i, info in enumerate(self.feature_info):
            info["reduction"] = patch_size * 2 ** ((self.reductions_before(i) + 1) // 2)  # the wider side of a token

    def reductions_before(self, block: int) -> int:
        """How many reductions lie before a block, counted from 0."""
        return sum(after <= block for after in self.reduce_after)

    def grids_of(self, size_hw: Grid) -> list[Grid]:
        """The grid that every block sees, and after them the grid that the head gets."""
        refuse_size(size_hw, self.step_hw)
        rows, columns = self.patch_embed.dynamic_feat_size(size_hw)
        steps = grids((int(rows), int(columns)), len(self.reduce_after))
        return [steps[self.reductions_before(i)] for i in range(len(self.blocks) + 1)]

    def embedded(self, pixels: Tensor) -> Stream:
        """Patches with their positions, special tokens in front."""
        return self.norm_pre(self._pos_embed(self.patch_embed(pixels)))

    def reduced(self, x: Stream, block: int, grid: Grid) -> Float[Tensor, "image fewer channel"]:
        """The tokens after `block`, counted from 0, which saw `grid`: averaged where a reduction follows."""
        if block + 1 not in self.reduce_after:
            return x
        window = _windows(len(self.reduce_after))[self.reduce_after.index(block + 1)]
        return averaged(x, grid, window, self.num_prefix_tokens)

    def steps(self, x: Tensor) -> Iterator[tuple[Stream, Stream, Grid]]:
        """(tokens that leave a block, the same after a reduction if one follows, the block's grid) for every block."""
        size_hw, x = (x.shape[-2], x.shape[-1]), self.embedded(x)
        for i, (block, grid) in enumerate(zip(self.blocks, self.grids_of(size_hw), strict=False)):
            # In evaluation nothing is remembered anyway.
            checked = self.grad_checkpointing and self.training
            left: Tensor = checkpoint(block, x, use_reentrant=False) if checked else block(x)  # type: ignore[assignment]
            x = self.reduced(left, i, grid)
            yield left, x, grid


default_cfgs = generate_default_cfgs({f"gradual_reduction_{size}": config() for size in ("tiny", "small", "base")})
register(GradualReduction, default_cfgs, __name__, pretrained_filter_fn=checkpoint_filter_fn)
