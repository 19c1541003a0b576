"""A multilayer perceptron on pixels: what there was before convolutions, to compare them with.

Every unit of the first layer has a weight of its own for every pixel. So nothing tells the network that two pixels are
neighbours, or that a stroke moved by a pixel is the same stroke: it learns both from examples, or not at all. After the
first layer there are no places.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from jaxtyping import Float
from timm.models import build_model_with_cfg, generate_default_cfgs, register_model
from torch import Tensor, nn

from vizkit.models.networks.sizes import config, sides
from vizkit.models.networks.timm_protocol import StageByStage


class PixelMLP(StageByStage):
    """`hidden`: how many units each layer before the head has; ReLU after each."""

    def __init__(
        self,
        img_size: int | Sequence[int] = 32,
        in_chans: int = 1,
        num_classes: int = 10,
        hidden: Sequence[int] = (256, 128),
    ) -> None:
        super().__init__(num_classes, in_chans, features=hidden[-1], hidden=hidden[-1])
        self.size_hw = sides(img_size)
        widths = (in_chans * prod(self.size_hw), *hidden)
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.relu = nn.ReLU()
        self.head = nn.Linear(hidden[-1], num_classes) if num_classes else nn.Identity()
        self.feature_info = [
            {"module": f"layers.{i}", "num_chs": width, "reduction": max(self.size_hw)}
            for i, width in enumerate(hidden)
        ]

    def steps(self, pixels: Float[Tensor, "image channel height width"]) -> Iterator[Float[Tensor, "image unit"]]:
        if pixels.shape[-2:] != self.size_hw:
            raise ValueError(f"this MLP has a weight for each of {self.size_hw} pixels, not for {pixels.shape[-2:]}")
        x = pixels.flatten(1)
        for layer in self.layers:
            x = self.relu(layer(x))
            yield x

    def forward_head(self, x: Float[Tensor, "image unit"], pre_logits: bool = False) -> Float[Tensor, "image label"]:
        return x if pre_logits else self.head(x)


default_cfgs = generate_default_cfgs(
    {
        "pixel_mlp": config(
            input_size=(1, 32, 32),
            num_classes=10,
            mean=(0.5,),
            std=(0.5,),
            crop_pct=1.0,
            interpolation="bilinear",
            first_conv="layers.0",
        )
    }
)


@register_model
def pixel_mlp(pretrained: bool = False, **kwargs: Any) -> nn.Module:
    """Two hidden layers of 256 and 128 units on 32×32 grey pixels."""
    return build_model_with_cfg(PixelMLP, "pixel_mlp", pretrained, feature_cfg={"feature_cls": "getter"}, **kwargs)
