"""Initial weights for narrow transformers on few images.

timm's deviation of 0.02 suits a width of 768. In a narrow model positions drown in it beside patch tokens of 0.5: a ViT
sees a bag of pixels for a dozen epochs.
"""

import math

import torch
from jaxtyping import Float
from timm.layers import PatchEmbed
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn


def narrow(model: nn.Module) -> None:
    """Draw the initial weights anew: mimetic for a plain ViT, by fan-in for the rest (Swin)."""
    for name, parameter in model.named_parameters():
        if "relative_position_bias" in name:
            nn.init.normal_(parameter, std=2)
        elif parameter.ndim == 2 and "head" not in name:
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)
    if isinstance(model, VisionTransformer):
        _mimetic(model)


@torch.no_grad()
def _mimetic(model: nn.Module) -> None:
    """Begin where trained ViTs end: with sinusoidal positions, queries that look for keys like themselves, and values
    that are sent back with the opposite sign (Trockman and Kolter 2023, Mimetic Initialization of Self-Attention
    Layers, equations 4 to 6: α₁ = β₁ = 0.7, α₂ = β₂ = 0.4).
    """
    width: int = model.embed_dim  # type: ignore[assignment]
    grid: tuple[int, int] = model.patch_embed.grid_size  # type: ignore[assignment,union-attr]
    if model.pos_embed is not None:  # else they are sinusoids already, and fixed
        model.pos_embed.zero_()  # type: ignore[operator]
        model.pos_embed[0, -grid[0] * grid[1] :] = _sinusoids(grid, width)  # type: ignore[index]
    for pixels in (module.proj.weight for module in model.modules() if isinstance(module, PatchEmbed)):
        nn.init.normal_(pixels, std=pixels[0].numel() ** -0.5)
    for block in model.blocks:  # type: ignore[union-attr]
        attention = block.attn
        size = width // attention.num_heads
        queries, keys, values = attention.qkv.weight.view(3, attention.num_heads, size, width)
        for head in range(attention.num_heads):
            left, right = _halves(0.7, 0.7, width)
            queries[head], keys[head] = left[:, :size].T, right[:size]
        left, right = _halves(0.4, -0.4, width)
        values.copy_(right.view_as(values))
        attention.proj.weight.copy_(left)


def _halves(noise: float, identity: float, width: int) -> tuple[Float[Tensor, "d d"], Float[Tensor, "d d"]]:
    """Two matrices whose product is noise · Z / √d + identity · I, each with half of its singular values."""
    product = noise * torch.randn(width, width) / math.sqrt(width) + identity * torch.eye(width)
    left, sizes, right = torch.linalg.svd(product)
    return left * sizes.sqrt(), sizes.sqrt()[:, None] * right


def _sinusoids(grid: tuple[int, int], width: int) -> Float[Tensor, "patch {width}"]:
    """A quarter of the channels each: sine and cosine of the column and of the row, at wavelengths 2π to 200π cells."""
    slowness = 100 ** (torch.arange(width // 4) / (width // 4))
    rows, columns = torch.meshgrid(*(torch.arange(side) for side in grid), indexing="ij")
    angles = [places.reshape(-1, 1) / slowness for places in (columns, rows)]
    return torch.cat([wave(angle) for wave in (torch.sin, torch.cos) for angle in angles], 1)
