"""How long a network on texts takes by the length of the text: a step of training, and writing an answer.

What Vaswani et al. 2017 (arXiv 1706.03762, table 1) say of complexity, sequential operations and longest paths, beside
what a clock says.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from vizkit.models.networks.sequence_models import NETWORKS, build
from vizkit.vocabulary import SPECIAL

LENGTHS = (8, 16, 32, 64, 128)
"""Beyond 1,024 words in a batch torch's CPU kernels change, and with them the times by more than the length does."""
WORDS = 40  # of a made-up vocabulary: the times hardly depend on it
BATCH = 8
REPEATS = 3


@dataclass(frozen=True)
class Times:
    """Seconds at each length, source and target of the same: `training`, one step with a batch of 8 texts (forward and
    backward); `writing`, one answer of that length, word after word."""

    name: str
    lengths: tuple[int, ...]
    training: tuple[float, ...]
    writing: tuple[float, ...]


def times_of(name: str, lengths: Sequence[int] = LENGTHS, said: Callable[[int], None] = lambda _: None) -> Times:
    """Of a network of NETWORKS that translates, with new weights and its usual sizes. The shortest of three times each;
    `said` hears of every length that begins."""
    sizes = {"max_length": max(lengths) + 1} if NETWORKS[name][0].__name__ == "Seq2SeqTransformer" else {}
    torch.manual_seed(0)
    model: Any = build(name, WORDS, sizes)
    training, writing = [], []
    for length in lengths:
        said(length)
        source, target = torch.randint(len(SPECIAL), WORDS, (2, BATCH, length))
        training.append(seconds_of(lambda s=source, t=target: _step(model, s, t)))
        writing.append(seconds_of(lambda s=source[:1], t=target[0]: _write(model, s, t)))
    return Times(name, tuple(lengths), tuple(training), tuple(writing))


def seconds_of(work: Callable[[], object]) -> float:
    """The shortest of a few times, after one that counts for nothing: those that this thread really worked, which
    other programs disturb least."""
    work()
    took = []
    for _ in range(REPEATS):
        begin = time.thread_time()
        work()
        took.append(time.thread_time() - begin)
    return min(took)


def exponent(lengths: Sequence[int], seconds: Sequence[float], last: int = 3) -> float:
    """p of seconds ~ lengthᵖ over the `last` lengths, where what does not depend on the length weighs least: the slope
    of the straight line through the logarithms, by least squares."""
    x = [math.log(length) for length in lengths[-last:]]
    y = [math.log(each) for each in seconds[-last:]]
    centre, level = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - centre) * (b - level) for a, b in zip(x, y, strict=True))
    return above / sum((a - centre) ** 2 for a in x)


def _step(model: nn.Module, source: torch.Tensor, target: torch.Tensor) -> None:
    F.cross_entropy(model(source, target).flatten(0, 1), target.flatten()).backward()
    model.zero_grad()


@torch.no_grad()
def _write(model: Any, source: torch.Tensor, words: torch.Tensor) -> None:
    """The words are given, not chosen: a model without training would end anywhere."""
    state = model.start(source)
    for word in words:
        _, state = model.step(word[None], state)
