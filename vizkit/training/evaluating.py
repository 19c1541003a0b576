"""How well a model does on a split: loss, accuracy, and a few examples to look at."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import Dataset

from vizkit.image import Preprocessing
from vizkit.training.pictures.batches import loader, normalised

BATCH = 128
SAMPLES = 12


@dataclass(frozen=True)
class Score:
    """Mean cross-entropy in nats, share of right first choices, and what was said about the first images."""

    loss: float
    accuracy: float
    images: int
    samples: list[dict[str, Any]]  # index, label, predicted, probability


@torch.inference_mode()
def evaluate(model: nn.Module, images: Dataset, needs: Preprocessing, accelerator: Accelerator, workers: int) -> Score:
    """Every process takes every n-th batch; all of them get the same answer."""
    model.eval()
    total = len(images)  # type: ignore[arg-type]
    starts = range(accelerator.process_index * BATCH, total, accelerator.num_processes * BATCH)
    keys = [[(i, 0) for i in range(start, min(start + BATCH, total))] for start in starts]
    sums, samples = torch.zeros(2, device=accelerator.device, dtype=torch.float64), []
    for pictures, labels in loader(images, keys, workers):
        labels = labels.to(accelerator.device)
        with accelerator.autocast():
            logits = model(normalised(pictures, needs, accelerator.device)).float()
        sums[0] += F.cross_entropy(logits, labels, reduction="sum")
        sums[1] += (logits.argmax(-1) == labels).sum()
        if not samples:
            samples = _spoken(logits[:SAMPLES], labels)
    if accelerator.num_processes > 1:
        sums: Any = accelerator.reduce(sums, reduction="sum")
    loss, right = (float(each) for each in sums)
    return Score(loss / total, right / total, total, samples)


def _spoken(logits: torch.Tensor, labels: torch.Tensor) -> list[dict[str, Any]]:
    """The model's answers to the first images of the split."""
    probability, predicted = logits.softmax(-1).max(-1)
    rows = zip(labels.tolist(), predicted.tolist(), probability.tolist(), strict=False)
    return [{"index": i, "label": y, "predicted": p, "probability": s} for i, (y, p, s) in enumerate(rows)]
