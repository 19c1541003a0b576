"""A kernel that slides over an image: what it multiplies at a place, what it gives everywhere, and how large that is.

"Convolution" is cross-correlation, as in all libraries of deep learning: S(i, j) = Σ I(i·s − p + m·d, j·s − p + n·d)
K(m, n) (Dumoulin & Visin 2016, arXiv 1603.07285). Pooling takes the largest or the mean instead of the sum.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float
from PIL import Image
from PIL.Image import Resampling
from torch import Tensor

from vizkit.image import RGB, Pixels

Kind = Literal["convolution", "max", "mean"]


@dataclass(frozen=True)
class Steps:
    """How a window of f × f goes over an image, in pixels; `padding` is added on all four sides."""

    f: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1

    @property
    def span(self) -> int:
        """Side of the square that the window covers, gaps included."""
        return self.dilation * (self.f - 1) + 1

    def output_size(self, size: int) -> int:
        """H' = ⌊(H + 2p − d(f − 1) − 1) / s⌋ + 1; not above 0 where the window does not fit."""
        return (size + 2 * self.padding - self.dilation * (self.f - 1) - 1) // self.stride + 1


def window(
    image: Float[Tensor, "channel height width"], steps: Steps, at: tuple[int, int], outside: float = 0.0
) -> Float[Tensor, "channel f f2"]:
    """What lies under the window at output place `at`, (row, column); `outside` where there is padding."""
    padded = F.pad(image, (steps.padding,) * 4, value=outside)
    top, left = at[0] * steps.stride, at[1] * steps.stride
    return padded[:, top : top + steps.span : steps.dilation, left : left + steps.span : steps.dilation]


def products(
    image: Float[Tensor, "channel height width"],
    kernel: Float[Tensor, "channel f f2"],
    steps: Steps,
    at: tuple[int, int],
) -> Float[Tensor, "channel f f2"]:
    """Pixel times weight at every place of the window; their sum is the output there."""
    return window(image, steps, at) * kernel


def output(
    image: Float[Tensor, "channel height width"],
    kernel: Float[Tensor, "channel f f2"],
    steps: Steps,
    kind: Kind = "convolution",
    bias: float = 0.0,
) -> Float[Tensor, "out_height out_width"]:
    """PyTorch's own: the sums of `products`, or for "max" the largest pixel of every window (of an image with one
    channel; padding never wins). A mean is the convolution with equal weights. `ValueError` where nothing fits."""
    if min(steps.output_size(side) for side in image.shape[1:]) < 1:
        raise ValueError(f"A window of {steps.span} pixels does not fit into {tuple(image.shape[1:])}.")
    if kind == "max":
        return F.max_pool2d(image[None], steps.f, steps.stride, steps.padding, steps.dilation)[0, 0]
    out = F.conv2d(image[None], kernel[None], None, steps.stride, steps.padding, steps.dilation)
    return out[0, 0] + bias


def reduced(rgb: RGB, side_px: int) -> Pixels:
    """The square in the middle of an image in so few pixels that they can be seen, each the mean of what it covers."""
    height, width = rgb.shape[:2]
    short = min(height, width)
    left, top = (width - short) / 2, (height - short) / 2
    box = (left, top, left + short, top + short)
    return np.asarray(Image.fromarray(rgb).resize((side_px, side_px), Resampling.BOX, box=box))
