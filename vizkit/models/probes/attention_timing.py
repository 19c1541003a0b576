"""How long one layer of global or window attention takes on this machine, with random numbers in it.

The layer of Liu et al. 2021 (arXiv 2103.14030), eq. 1 and 2: projections to queries, keys and values, attention,
output projection; no bias, no MLP. The kernel is torch's `scaled_dot_product_attention`, which need not store the
weights.
"""

import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

REPEATS = 3
ENOUGH_S = 0.5  # what takes longer is measured once


@dataclass(frozen=True)
class Timed:
    """`seconds`: the fastest of a few passes, the one that other work disturbed least; on the CPU the time that the
    calling thread, which takes part in all of it, really worked. `window` is None for global attention."""

    size_px: int
    tokens: int
    window: int | None
    seconds: float


@dataclass(frozen=True)
class Layer:
    """What is timed: the side of a token in pixels, channels, heads."""

    stride_px: int
    channels: int
    heads: int


def time_layer(layer: Layer, size_px: int, window: int | None, device: str = "cpu") -> Timed:
    """One image of `size_px` × `size_px` pixels through the layer; grids that the window does not divide are padded."""
    side = -(-size_px // layer.stride_px)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randn(1, side, side, layer.channels, generator=generator).to(device)
    scale = layer.channels**-0.5
    into = (torch.randn(3 * layer.channels, layer.channels, generator=generator) * scale).to(device)
    out_of = (torch.randn(layer.channels, layer.channels, generator=generator) * scale).to(device)
    best, spent = float("inf"), 0.0
    with torch.no_grad():
        attend(tokens[:, : 2 * (window or 4), : 2 * (window or 4)], into, out_of, layer.heads, window)  # warm
        for _ in range(REPEATS):
            start = _now(device)
            attend(tokens, into, out_of, layer.heads, window)
            best = min(best, _now(device) - start)
            spent += best
            if spent > ENOUGH_S:
                break
    return Timed(size_px, side * side, window, best)


def attend(tokens: Tensor, into: Tensor, out_of: Tensor, heads: int, window: int | None) -> Tensor:
    """(1, row, column, channel) → the same: one layer, in windows of `window` × `window` or over all tokens."""
    _, rows, columns, channels = tokens.shape
    if window is None:
        return one_layer(tokens.flatten(1, 2), into, out_of, heads).view_as(tokens)
    padded = F.pad(tokens, (0, 0, 0, -columns % window, 0, -rows % window))
    down, across = padded.shape[1] // window, padded.shape[2] // window
    cut = padded.view(down, window, across, window, channels).transpose(1, 2).reshape(-1, window * window, channels)
    made = one_layer(cut, into, out_of, heads)
    whole = made.view(down, across, window, window, channels).transpose(1, 2).reshape_as(padded)
    return whole[:, :rows, :columns]


def one_layer(groups: Tensor, into: Tensor, out_of: Tensor, heads: int) -> Tensor:
    """softmax(QKᵀ/√d)V of every group, (group, token, channel), and the output projection."""
    query, key, value = F.linear(groups, into).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(query, key, value)
    return F.linear(mixed.transpose(1, 2).flatten(2), out_of)


def _now(device: str) -> float:
    """Seconds, once the device has done what it was given."""
    if not device.startswith("cuda"):
        return time.thread_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def machine() -> str:
    """Where times were measured, in words."""
    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads > 1 else ''}, torch {torch.__version__}"
