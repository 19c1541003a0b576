"""What TTSR is built of beside its attention: texture extractor, residual blocks, transfer, cross-scale exchange."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

Map = Float[Tensor, "_picture _channel _row _column"]


def bicubic(pixels: Map, size_hw: tuple[int, int]) -> Map:
    """Resized as Pillow does it: bicubic with a = −½, wider where it shrinks, so that nothing aliases."""
    return F.interpolate(pixels.float(), size_hw, mode="bicubic", antialias=True)


def up(features: Map, times: int) -> Map:
    """Every value `times` × `times` large."""
    return features if times == 1 else F.interpolate(features, scale_factor=times, mode="nearest")


class Extractor(nn.Module):
    """The learned texture extractor: 3×3 convolutions and pooling as in VGG, features at three scales, finest first.

    The last has no ReLU: vectors with signs can point away from one another.
    """

    def __init__(self, widths: tuple[int, int, int]) -> None:
        super().__init__()
        self.fine = nn.Conv2d(3, widths[0], 3, padding=1)
        self.middle = nn.Conv2d(widths[0], widths[1], 3, padding=1)
        self.coarse = nn.Conv2d(widths[1], widths[2], 3, padding=1)
        self.deep = nn.Conv2d(widths[2], widths[2], 3, padding=1)

    def forward(self, pixels: Map) -> tuple[Map, Map, Map]:
        fine = self.fine(4 * pixels - 2).relu()
        middle = self.middle(F.avg_pool2d(fine, 2)).relu()
        return fine, middle, self.deep(self.coarse(F.avg_pool2d(middle, 2)).relu())


class Residual(nn.Module):
    """x + conv(relu(conv(x))), without norms, as in EDSR."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))

    def forward(self, features: Map) -> Map:
        return features + self.second(self.first(features).relu())


class Transfer(nn.Module):
    """F + Conv(Concat(F, T)) ⊙ σ(10 a (S − b)): texture where it can be trusted.

    The paper multiplies by S itself. But the best of many places is never far from 1, not even in noise; a and b are
    learned, so that the scale can say where trust begins.
    """

    def __init__(self, width: int, texture: int) -> None:
        super().__init__()
        self.join = nn.Conv2d(width + texture, width, 3, padding=1)
        self.slope, self.middle = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(0.8))

    def gate(self, relevance: Tensor) -> Tensor:
        """0 (refused) … 1 (taken as it is)."""
        return torch.sigmoid(10 * self.slope * (relevance - self.middle))

    def forward(self, features: Map, texture: Map, relevance: Map) -> Map:
        return features + self.join(torch.cat([features, texture], 1)) * self.gate(relevance)


class Exchange(nn.Module):
    """Cross-scale integration (CSFI): every scale hears of all others, enlarged, or shrunk by averaging.

    `widths`: channels of each scale, coarsest first, each twice as fine as the one before.
    """

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.bring = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(other, width, 1) if k != i else nn.Identity() for k, other in enumerate(widths))
            for i, width in enumerate(widths)
        )
        self.join = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for width in widths)

    def forward(self, *scales: Map) -> list[Map]:
        return [scales[i] + self.join[i](self.sum_at(i, scales).relu()) for i in range(len(self.join))]

    def sum_at(self, i: int, scales: tuple[Map, ...]) -> Map:
        total = scales[i]
        for k, features in enumerate(scales):
            if k < i:
                total = total + up(self.bring[i][k](features), 2 ** (i - k))  # type: ignore[index]
            elif k > i:
                total = total + self.bring[i][k](F.avg_pool2d(features, 2 ** (k - i)))  # type: ignore[index]
        return total


def shuffling(widths: tuple[int, ...]) -> nn.ModuleList:
    """From each scale to the next finer by a convolution and pixel shuffle."""
    return nn.ModuleList(
        nn.Sequential(nn.Conv2d(low, 4 * high, 3, padding=1), nn.PixelShuffle(2)) for low, high in pairwise(widths)
    )
