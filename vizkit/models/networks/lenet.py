"""LeNet-5, the convolutional network of 1998, to be read from top to bottom (LeCun, Bottou, Bengio, Haffner 1998,
Gradient-Based Learning Applied to Document Recognition, Proc. IEEE 86 (11), § II.B and fig. 2).

    32² ─→ C1 6 @ 28² ─→ S2 6 @ 14² ─→ C3 16 @ 10² ─→ S4 16 @ 5² ─→ C5 120 ─→ F6 84 ─→ 10 classes

C layers convolve, S layers subsample, F6 is fully connected. Three ideas: a unit sees a small field of the layer before
(5×5), all units of a map share its weights, and subsampling makes places coarser while maps become more.

As everybody builds it today: subsampling is a plain mean of 2×2, without the paper's two numbers for each map; the
output is linear, for a softmax, where the paper measured the distance to a drawn template of each class.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from timm.models import build_model_with_cfg, generate_default_cfgs, register_model
from torch import Tensor, nn

from vizkit.models.networks.sizes import config, sides
from vizkit.models.networks.timm_protocol import StageByStage

SIDE = 32  # of the input; a character is at most 20 pixels large and lies in the middle of 28

TABLE = (
    (0, 1, 2),
    (1, 2, 3),
    (2, 3, 4),
    (3, 4, 5),
    (0, 4, 5),
    (0, 1, 5),
    (0, 1, 2, 3),
    (1, 2, 3, 4),
    (2, 3, 4, 5),
    (0, 3, 4, 5),
    (0, 1, 4, 5),
    (0, 1, 2, 5),
    (0, 1, 3, 4),
    (1, 2, 4, 5),
    (0, 2, 3, 5),
    (0, 1, 2, 3, 4, 5),
)
"""Which of the six maps of S2 each of the sixteen maps of C3 reads (table I of the paper)."""


class SparseC3(nn.Module):
    """C3 as in the paper: each map reads only some maps of S2 (`TABLE`), so that different maps become different
    features; 1,516 numbers instead of 2,416."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Conv2d(len(inputs), 1, kernel_size=5) for inputs in TABLE)

    def forward(self, s2: Float[Tensor, "image 6 row column"]) -> Float[Tensor, "image 16 row2 column2"]:
        return torch.cat([conv(s2[:, list(inputs)]) for conv, inputs in zip(self.maps, TABLE, strict=True)], 1)


class LeNet5(StageByStage):
    """`img_size`: 32 as in the paper, or 28 (MNIST's own), which C1 then pads by 2 pixels of zeros. `sparse`: C3 by the
    paper's table. 61,706 parameters for one channel and ten classes: 156 + 2,416 + 48,120 + 10,164 + 850.
    """

    def __init__(
        self,
        img_size: int | Sequence[int] = SIDE,
        in_chans: int = 1,
        num_classes: int = 10,
        sparse: bool = False,
    ) -> None:
        super().__init__(num_classes, in_chans, features=16, hidden=84)
        if sides(img_size) not in ((SIDE, SIDE), (28, 28)):
            raise ValueError(f"LeNet-5 reads 32×32 or 28×28 pixels, not {'×'.join(map(str, sides(img_size)))}")
        self.c1 = nn.Conv2d(in_chans, 6, kernel_size=5, padding=(SIDE - sides(img_size)[0]) // 2)
        self.s2 = nn.AvgPool2d(2)
        self.c3 = SparseC3() if sparse else nn.Conv2d(6, 16, kernel_size=5)
        self.s4 = nn.AvgPool2d(2)
        self.c5 = nn.Conv2d(16, 120, kernel_size=5)  # its kernel covers S4's whole map: one place is left
        self.f6 = nn.Linear(120, 84)
        self.head = nn.Linear(84, num_classes) if num_classes else nn.Identity()
        self.squash = nn.Tanh()
        self.feature_info = [
            {"module": "c1", "num_chs": 6, "reduction": 1},
            {"module": "s2", "num_chs": 6, "reduction": 2},
            {"module": "c3", "num_chs": 16, "reduction": 2},
            {"module": "s4", "num_chs": 16, "reduction": 4},
        ]

    def steps(self, pixels: Float[Tensor, "image channel height width"]) -> Iterator[Tensor]:
        """The maps of C1, S2, C3 and S4, each (image, map, row, column), after the squashing function."""
        c1 = self.squash(self.c1(pixels))
        yield c1
        s2 = self.s2(c1)
        yield s2
        c3 = self.squash(self.c3(s2))
        yield c3
        yield self.s4(c3)

    def forward_head(self, s4: Float[Tensor, "image 16 5 5"], pre_logits: bool = False) -> Float[Tensor, "image label"]:
        c5 = self.squash(self.c5(s4)).flatten(1)  # image 120
        f6 = self.squash(self.f6(c5))
        return f6 if pre_logits else self.head(f6)


default_cfgs = generate_default_cfgs(
    {
        "lenet5": config(
            input_size=(1, SIDE, SIDE),
            num_classes=10,
            mean=(0.5,),
            std=(0.5,),
            crop_pct=1.0,
            interpolation="bilinear",
            first_conv="c1",
        )
    }
)


@register_model
def lenet5(pretrained: bool = False, **kwargs: Any) -> nn.Module:
    """Two convolutions of 5×5, two subsamplings and three layers that see everything; 61,706 parameters."""
    return build_model_with_cfg(LeNet5, "lenet5", pretrained, feature_cfg={"feature_cls": "getter"}, **kwargs)
