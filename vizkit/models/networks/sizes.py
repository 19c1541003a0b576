"""What our networks share on their way into timm: the usual widths, the facts of a checkpoint, sizes that divide."""

from collections.abc import Iterable, Sequence
from typing import Any

from timm.data import IMAGENET_INCEPTION_MEAN, IMAGENET_INCEPTION_STD
from timm.models import build_model_with_cfg, register_model
from torch import nn

SIZES: dict[str, dict[str, int]] = {
    "tiny": {"embed_dim": 192, "depth": 12, "num_heads": 3},
    "small": {"embed_dim": 384, "depth": 12, "num_heads": 6},
    "base": {"embed_dim": 768, "depth": 12, "num_heads": 12},
    "large": {"embed_dim": 1024, "depth": 24, "num_heads": 16},
    "huge": {"embed_dim": 1280, "depth": 32, "num_heads": 16, "patch_size": 14},
}
"""Dosovitskiy et al. 2020, table 1 (base, large, huge); Touvron et al. 2021, table 1 (tiny, small). The MLP is four
times as wide."""


def register(network: type[nn.Module], names: Iterable[str], file: str, **how: Any) -> None:
    """Each of these names, which end in a size, in timm, as of this file (`__name__`): the sizes hold where nothing
    else is given."""
    for name in names:

        def made(pretrained: bool = False, variant: str = name, **options: Any) -> nn.Module:
            options = {**SIZES[variant.rpartition("_")[2]], **options}
            getter = {"out_indices": 3, "feature_cls": "getter"}
            return build_model_with_cfg(network, variant, pretrained, feature_cfg=getter, **how, **options)

        made.__name__, made.__module__ = name, file
        register_model(made)


def config(**facts: Any) -> dict[str, Any]:
    """What timm keeps about weights; without `hf_hub_id` there are none."""
    return {
        "num_classes": 1000,
        "input_size": (3, 224, 224),
        "fixed_input_size": True,
        "crop_pct": 0.9,
        "interpolation": "bicubic",
        "mean": IMAGENET_INCEPTION_MEAN,
        "std": IMAGENET_INCEPTION_STD,
        "first_conv": "patch_embed.proj",
        "classifier": "head",
        **facts,
    }


def sides(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width); one number is both."""
    height, width = (size, size) if isinstance(size, int) else size
    return int(height), int(width)


def refuse_size(size_hw: tuple[int, int], step_hw: tuple[int, int]) -> None:
    """ValueError, which names the nearest size that works, unless the steps divide the size."""
    nearest = tuple(max(1, round(side / step)) * step for side, step in zip(size_hw, step_hw, strict=True))
    if nearest != size_hw:
        by = "×".join
        raise ValueError(
            f"steps of {by(map(str, step_hw))} pixels do not divide {by(map(str, size_hw))}, "
            f"the nearest size is {by(map(str, nearest))}"
        )
