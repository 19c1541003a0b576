"""Models whose answers are known on paper, for tests of explanations."""

import torch

from vizkit.analysis.attribution.subject import Subject

SIZE = (4, 8)
CELLS = (2, 4)  # squares of 2 × 2 pixels


def linear(weights: torch.Tensor, pixels: torch.Tensor, against: int | None = None, batch: int = 32) -> Subject:
    """Two classes: Σ weights · pixels, and 0. `weights` (channel, height, width)."""

    def logits(batch_of: torch.Tensor) -> torch.Tensor:
        first = (batch_of * weights).flatten(1).sum(1)
        return torch.stack([first, torch.zeros_like(first)], 1)

    return Subject(logits, pixels, 0, against, batch)


def picture(seed: int, channels: int = 3) -> torch.Tensor:
    return torch.randn(1, channels, *SIZE, generator=torch.Generator().manual_seed(seed))


def by_cell(values: torch.Tensor) -> torch.Tensor:
    """The sum over channels and the 2 × 2 pixels of each cell."""
    return values.sum(0).view(CELLS[0], 2, CELLS[1], 2).sum((1, 3))
