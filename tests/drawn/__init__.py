"""What tests draw by chance: the same for a seed, and nothing else hears of it."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    """Numbers of a normal distribution."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def noisy_picture(height: int, width: int, seed: int = 0) -> np.ndarray:
    """(height, width, 3) of uint8."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    """What torch draws inside, such as the weights of a new model."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
