"""The hierarchy of a Swin: what each stage works on, and how each of its blocks cuts its tokens into windows.

Liu et al. 2021 (arXiv 2103.14030), § 3.1 and fig. 3.
"""

from dataclasses import dataclass

from jaxtyping import Bool
from torch import Tensor, nn

from vizkit.models.families import swin
from vizkit.models.families.swin import Block
from vizkit.models.recording.kinds import is_torchvision
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable, Tokens


@dataclass(frozen=True)
class Stage:
    """`tokens.stride` is the side of a token in input pixels. `first_layer`: the first block's place among all blocks.

    `pad_first`: the grid is padded before it is rolled (torchvision), not after (timm).
    """

    tokens: Tokens
    channels: int
    heads: int
    blocks: tuple[Block, ...]
    first_layer: int
    pad_first: bool

    @property
    def grid(self) -> tuple[int, int]:
        assert self.tokens.grid is not None
        return self.tokens.grid


def is_swin(loaded: Loaded) -> bool:
    return swin.matches(loaded.model)


def hierarchy(loaded: Loaded, size_hw: tuple[int, int] | None = None) -> tuple[Stage, ...]:
    """The stages of a Swin on an input of `size_hw` pixels, its own when not given. NotApplicable for other models."""
    if not is_swin(loaded):
        raise NotApplicable(f"{loaded.name} is not a Swin: it has no windows that shift, and no merging.")
    stages, first = [], 0
    size_hw = size_hw or loaded.preprocessing.size_hw
    planned = list(swin.blocks(loaded.model, size_hw))
    for index, stage in enumerate(swin.tokens_of(loaded.model, size_hw)):
        blocks = tuple(block for block in planned if block.stage == index)
        attention = loaded.model.get_submodule(blocks[0].path)
        assert isinstance(attention.qkv, nn.Linear)
        heads = attention.num_heads
        assert isinstance(heads, int)
        channels = attention.qkv.in_features
        stages.append(Stage(stage, channels, heads, blocks, first, is_torchvision(loaded.model)))
        first += len(blocks)
    return tuple(stages)


def own_mask(loaded: Loaded, path: str) -> Bool[Tensor, "window query key"] | None:
    """Which pairs the block of attention layer `path` lets see each other, by its own buffer.

    None where it keeps none: it does not shift, or makes the mask anew each time (torchvision).
    """
    mask = getattr(loaded.model.get_submodule(path.removesuffix(".attn")), "attn_mask", None)
    return mask == 0 if isinstance(mask, Tensor) else None
