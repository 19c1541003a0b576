"""How well a model does on a split: loss, accuracy, and a few examples to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import Dataset

from vizkit.image import Preprocessing
from vizkit.training.pictures.batches import loader, normalised

__all__ = ["SAMPLES", "Score", "evaluate"]

BATCH = 128
SAMPLES = 12


@dataclass(frozen=True)
class Score:
    """Mean cross-entropy in nats, share of right first choices, and what was said about some images."""

    loss: float
    accuracy: float
    images: int
    samples: list[dict[str, Any]]  # index, label, predicted, probability


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    images: Dataset,
    needs: Preprocessing,
    accelerator: Accelerator,
    workers: int,
    shown: Sequence[int] = (),
) -> Score:
    """Every process takes every n-th batch; all of them get the same answer. `shown`: the rows of some images whose
    answers are kept, asked once more in a batch of their own."""
    model.eval()

    def logits_of(pictures: torch.Tensor) -> torch.Tensor:
        with accelerator.autocast():
            return model(normalised(pictures, needs, accelerator.device)).float()

    total = len(images)  # type: ignore[arg-type]
    starts = range(accelerator.process_index * BATCH, total, accelerator.num_processes * BATCH)
    keys = [[(i, 0) for i in range(start, min(start + BATCH, total))] for start in starts]
    sums: Any = torch.zeros(2, device=accelerator.device, dtype=torch.float64)
    for pictures, labels in loader(images, keys, workers):
        labels, logits = labels.to(accelerator.device), logits_of(pictures)
        sums[0] += F.cross_entropy(logits, labels, reduction="sum")
        sums[1] += (logits.argmax(-1) == labels).sum()
    if accelerator.num_processes > 1:
        sums = accelerator.reduce(sums, reduction="sum")
    loss, right = (float(each) for each in sums)
    samples = []
    for pictures, labels in loader(images, [[(row, 0) for row in shown]], 0) if shown else ():
        samples = _answers(logits_of(pictures), labels, shown)
    return Score(loss / total, right / total, total, samples)


def _answers(logits: torch.Tensor, labels: torch.Tensor, rows: Sequence[int]) -> list[dict[str, Any]]:
    """The model's answers to the images of these rows of the split."""
    probability, predicted = logits.softmax(-1).max(-1)
    each = zip(rows, labels.tolist(), predicted.tolist(), probability.tolist(), strict=True)
    return [{"index": i, "label": y, "predicted": p, "probability": s} for i, y, p, s in each]
