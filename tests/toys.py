"""Models whose answers are known on paper, and traces that no model made, for tests of explanations."""

import torch
from torch import nn

from tests.drawn import noise
from vizkit.analysis.attribution.subject import Subject
from vizkit.geometry import all_ids
from vizkit.traces import Attention, Check, Trace

SIZE = (4, 8)
CELLS = (2, 4)  # squares of 2 × 2 pixels


def linear(weights, pixels, against=None, batch=32):
    """Two classes: Σ weights · pixels, and 0. `weights` (channel, height, width)."""

    def logits(batch_of):
        first = (batch_of * weights).flatten(1).sum(1)
        return torch.stack([first, torch.zeros_like(first)], 1)

    return Subject(logits, pixels, 0, against, batch)


def picture(seed, channels=3):
    return noise(1, channels, *SIZE, seed=seed)


def by_cell(values):
    """The sum over channels and the 2 × 2 pixels of each cell."""
    return values.sum(0).view(CELLS[0], 2, CELLS[1], 2).sum((1, 3))


def attending(weights, tokens, ids=None, name="toy", **more):
    """A layer whose tokens attend to one another in the groups `ids`, or all together."""
    ids = all_ids(len(tokens)) if ids is None else ids
    return Attention(name, weights, tokens, tokens, ids, ids, **more)


def trace_of(*layers, **more):
    """A trace of these layers whose check has passed."""
    count = sum(layer.learned for layer in layers)
    usual = {"image_size": (32, 48), "logits": torch.zeros(2), "features": (), "check": Check(0.0, count, count, 0.0)}
    return Trace("toy", attention=layers, **usual | more)


class Stranger(nn.Module):
    """Anybody's module with attention, of three classes."""

    def __init__(self, patch_px=12, width=32, heads=4):
        super().__init__()
        self.embed, self.head = nn.Conv2d(3, width, patch_px, patch_px), nn.Linear(width, 3)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.head((x + self.attention(x, x, x)[0]).mean(1))
