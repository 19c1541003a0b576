"""Where one number of a convolution comes from: what every channel of the layer before contributes to it.

The output at (channel, row, column) is the bias and Σ weight · input over the window and the channels of its group; the
products of one channel are added up here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Origin:
    """`channels` of the layer before, with what each of them adds: `shares` and `bias` sum to `value`. `products` are
    those of every place of the window, in the order of `channels`."""

    channels: Int[Tensor, " channel"]
    shares: Float[Tensor, " channel"]
    products: Float[Tensor, "channel f_rows f_columns"]
    bias: float

    @property
    def value(self) -> float:
        return float(self.shares.double().sum()) + self.bias


def origin(arguments: Mapping[str, Any], unit: tuple[int, int, int]) -> Origin:
    """Of the number at `unit`, (channel, row, column). `arguments` are those of `F.conv2d`: input, weight and the rest,
    the input (1, channel, row, column) with float32 values."""
    channel, row, column = unit
    weight = arguments["weight"]
    rows, columns = weight.shape[2:]
    dilation, stride = (_pair(arguments.get(name, 1)) for name in ("dilation", "stride"))
    padded = _padded(arguments["input"][0], arguments.get("padding", 0), (rows, columns), dilation)
    top, left = row * stride[0], column * stride[1]
    group = channel // (weight.shape[0] // arguments.get("groups", 1))
    first = group * weight.shape[1]
    window = padded[
        first : first + weight.shape[1],
        top : top + dilation[0] * (rows - 1) + 1 : dilation[0],
        left : left + dilation[1] * (columns - 1) + 1 : dilation[1],
    ]
    products = window * weight[channel]
    bias = arguments.get("bias")
    added = 0.0 if bias is None else float(bias[channel])
    return Origin(torch.arange(first, first + len(window)), products.sum((1, 2)), products, added)


def _padded(image: Tensor, padding: Any, kernel: tuple[int, int], dilation: tuple[int, int]) -> Tensor:
    if padding == "valid":
        return image
    if padding == "same":  # PyTorch adds the odd row and column at the end
        spare = [spread * (side - 1) for spread, side in zip(dilation, kernel, strict=True)]
        return F.pad(image, (spare[1] // 2, spare[1] - spare[1] // 2, spare[0] // 2, spare[0] - spare[0] // 2))
    down, right = _pair(padding)
    return F.pad(image, (right, right, down, down))


def _pair(value: Any) -> tuple[int, int]:
    first, *others = value if isinstance(value, list | tuple) else (value,)
    return int(first), int(others[0] if others else first)
