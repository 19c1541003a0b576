"""Dual-scale ViT: fine and coarse patches of one image, aligned, compared, and merged in one attention.

Proposed in a thesis (Badzohreh 2024) without code; this is our reading of it, for fine patches of 8 and coarse ones of
16 pixels at 224²:

1. The image is cut twice, into 784 fine and 196 coarse tokens.
2. Alignment: every coarse token is repeated four times, and the fine ones are re-ordered, so that rows 4k … 4k+3 of
   both streams belong to coarse patch k.
3. One fixed sinusoidal table of 784 rows is added to both.
4. Blocks 1 to 8 run on both streams, with the same weights.
5. Block 9 merges: S = α·S_fine + (1 − α)·S_coarse with S = Q Kᵀ of either stream, the same W_Q and W_K, and
   O = softmax(S / √d_k)·V, the values being those of the fine stream. α is fixed, or the sigmoid of a free parameter.
6. Blocks 10 to 12 go on with that one stream.

Where the source is silent: the classes are read off the mean of all tokens, because the table has no row for a class
token; the residual connection of block 9 is that of the fine stream; queries and keys of both come from the block's own
normalisation; there is one α for all heads.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from timm.layers import PatchEmbed
from timm.models import generate_default_cfgs
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vizkit.models.networks.merging import Balance, Stream, alignment, block_of
from vizkit.models.networks.positions import sinusoids, sinusoids_2d
from vizkit.models.networks.sizes import config, refuse_size, register, sides
from vizkit.models.networks.timm_protocol import BlockByBlock


class DualScale(BlockByBlock, VisionTransformer):
    """`merge_block`: which block merges, counted from 1. `positions`: "1d", the thesis' table over the aligned rows,
    or "2d", the place of the fine patch. `coarse_patch_size` is a multiple of `patch_size` and divides the image.
    `grad_checkpointing`: compute every block twice in training instead of remembering what happened inside it.
    """

    order: Tensor
    rows_of: Tensor
    pos_table: Tensor

    def __init__(
        self,
        img_size: int | Sequence[int] = 224,
        patch_size: int = 8,
        coarse_patch_size: int = 16,
        depth: int = 12,
        embed_dim: int = 768,
        in_chans: int = 3,
        merge_block: int = 9,
        alpha: float = 0.5,
        learn_alpha: bool = True,
        positions: str = "1d",
        global_pool: str = "avg",
        grad_checkpointing: bool = False,
        **options: Any,
    ) -> None:
        size_hw = sides(img_size)
        if coarse_patch_size % patch_size or coarse_patch_size <= patch_size:
            raise ValueError(f"Coarse patches of {coarse_patch_size} pixels hold no whole number of {patch_size}s.")
        refuse_size(size_hw, (coarse_patch_size, coarse_patch_size))
        if not 1 <= merge_block <= depth:
            raise ValueError(f"Block {merge_block} cannot merge: there are {depth}, counted from 1.")
        if positions not in ("1d", "2d"):
            raise ValueError(f"Positions are 1d or 2d, not {positions!r}.")
        super().__init__(
            img_size=size_hw,
            patch_size=patch_size,
            in_chans=in_chans,
            embed_dim=embed_dim,
            depth=depth,
            class_token=False,
            global_pool=global_pool,  # type: ignore[arg-type]
            fc_norm=False,
            pos_embed="none",
            block_fn=partial(block_of, merge_block),  # type: ignore[arg-type]
            **options,
        )
        self.patch_embed_coarse = PatchEmbed(size_hw, coarse_patch_size, in_chans, embed_dim)
        self.balance = Balance(float(alpha), learn_alpha)
        self.ratio, self.merge_block, self.positions = coarse_patch_size // patch_size, merge_block, positions
        self.step_px = coarse_patch_size
        self.grad_checkpointing = grad_checkpointing
        self.lay_out()

    def lay_out(self) -> None:
        """The alignment and the positions for the present grid; no checkpoint needs to hold them."""
        grid: Any = self.patch_embed.grid_size
        order = alignment(grid, self.ratio).flatten()
        table = sinusoids(len(order), self.embed_dim) if self.positions == "1d" else sinusoids_2d(grid, self.embed_dim)
        self.register_buffer("order", order, persistent=False)  # aligned row → fine patch
        self.register_buffer("rows_of", order.argsort(), persistent=False)  # fine patch → aligned row
        self.register_buffer("pos_table", table if self.positions == "1d" else table[order], persistent=False)

    def set_input_size(self, img_size: Any = None, patch_size: Any = None) -> None:
        if patch_size is not None:
            raise ValueError("The patches of a dual-scale ViT are chosen when it is made.")
        refuse_size(sides(img_size), (self.step_px, self.step_px))
        super().set_input_size(img_size)
        self.patch_embed_coarse.set_input_size(sides(img_size))
        self.lay_out()

    # ---- the forward pass --------------------------------------------------------------------------------------------
    def embedded(self, pixels: Tensor) -> tuple[Stream, Stream]:
        """(fine, coarse), aligned row by row, with their positions."""
        fine = self.patch_embed(pixels)[:, self.order]
        coarse = self.patch_embed_coarse(pixels).repeat_interleave(self.ratio**2, dim=1)
        return fine + self.pos_table, coarse + self.pos_table

    def streams(self, pixels: Tensor) -> Iterator[tuple[Stream, Stream]]:
        """(fine, coarse) after the embedding and after every block before the merging one."""
        fine, coarse = self.embedded(pixels)
        yield fine, coarse
        for block in self.blocks[: self.merge_block - 1]:
            fine, coarse = self.run(block, fine), self.run(block, coarse)
            yield fine, coarse

    def merged(self, fine: Stream, coarse: Stream, alpha: Tensor | float | None = None) -> Iterator[Stream]:
        """The one stream after the merging block and every later one, rows still aligned. `alpha`: another than the
        model's own, 0 to 1."""
        x = self.run(self.blocks[self.merge_block - 1], fine, coarse, self.balance() if alpha is None else alpha)
        yield x
        for block in self.blocks[self.merge_block :]:
            x = self.run(block, x)
            yield x

    def run(self, block: nn.Module, *arguments: Tensor | float) -> Stream:
        # In evaluation nothing is remembered anyway.
        if self.grad_checkpointing and self.training:
            return checkpoint(block, *arguments, use_reentrant=False)  # type: ignore[return-value]
        return block(*arguments)

    def through(self, pixels: Tensor) -> Iterator[Stream]:
        """The fine stream, and then the only one, after every block; rows in the order of the fine patches."""
        pairs = self.streams(pixels)
        pair = next(pairs)
        for pair in pairs:
            yield pair[0][:, self.rows_of]
        for x in self.merged(*pair):
            yield x[:, self.rows_of]

    def steps(self, x: Tensor) -> Iterator[tuple[Stream, Stream, tuple[int, int]]]:
        grid: Any = self.patch_embed.grid_size
        return ((tokens, tokens, grid) for tokens in self.through(x))


def with_alpha(model: DualScale, alpha: float) -> DualScale:
    """The same model with a fixed α, 0 to 1; all weights are shared, and `model` stays as it is."""
    clone = copy.copy(model)
    clone._modules = dict(model._modules)
    clone.balance = Balance(alpha, learned=False).train(model.training)
    return clone


default_cfgs = generate_default_cfgs({f"dual_scale_{size}": config() for size in ("tiny", "small", "base")})
register(DualScale, default_cfgs, __name__)
