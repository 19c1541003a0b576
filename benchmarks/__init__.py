"""Measured figures, as ratios in one run: `make bench`, or `python -m benchmarks recording`, `memory`, `pages`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def finished(device: "torch.device") -> None:
    """Wait until a GPU has done what it was asked."""
    import torch

    if device.type in ("cuda", "mps"):
        getattr(torch, device.type).synchronize()
