"""How well a model does on a split: loss, accuracy, and a few examples to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.data import Dataset

from vizkit.image import Preprocessing
from vizkit.training.pictures.batches import in_order, loader, normalised

BATCH = 128
IGNORED = -100
"""A label that does not count: beyond the end of a shorter text, say. `torch.nn.functional.cross_entropy`'s own."""


@dataclass(frozen=True)
class Score:
    """How well a model answers the examples of a split.

    `loss`: mean cross-entropy of an answer in nats. `accuracy`: share of examples all of whose answers are right,
    `answers_right`: share of answers; None where every example has but one, as a picture. `samples`: what was said
    about some images: index, label, predicted, probability. `psnr`: of networks that enlarge, mean in dB; "right" is
    then an enlargement nearer to the truth than the bicubic one, and the loss the mean absolute error. `ap50`,
    `ap`: of networks that find things, average precision from 0 to 1; "right" is then a scene without any mistake, as
    where masks are learned: `pq` is their panoptic quality, `iou` their mean overlap with the truth, from 0 to 1.
    `right_before`: of a model that was trained further how many examples it had right before, `right_both`: and after.
    """

    loss: float
    accuracy: float
    images: int
    samples: list[dict[str, Any]]
    answers_right: float | None = None
    psnr: float | None = None
    ap50: float | None = None
    ap: float | None = None
    pq: float | None = None
    iou: float | None = None
    right_before: int | None = None
    right_both: int | None = None

    def numbers(self, split: str) -> dict[str, float]:
        """For metrics.jsonl and result.json: "val_loss", "val_accuracy", and "val_answers_right" of text."""
        more = {f"{split}_{name}": getattr(self, name) for name in ("answers_right", "psnr", "ap50", "ap", "pq", "iou")}
        known = {name: value for name, value in more.items() if value is not None}
        return {f"{split}_loss": self.loss, f"{split}_accuracy": self.accuracy, **known}

    def sentence(self, examples: str) -> str:
        """The result of a test. `examples`: what they are called."""
        if self.psnr is not None:
            return f"{self.psnr:.2f} dB; {self.accuracy:.1%} of {self.images:,} test {examples} better than bicubic."
        if self.ap50 is not None:
            return f"AP50 {self.ap50:.3f}; {self.accuracy:.1%} of {self.images:,} test {examples} without any mistake."
        if self.pq is not None:
            return f"PQ {self.pq:.3f}; {self.accuracy:.1%} of {self.images:,} test {examples} without any mistake."
        before = "" if self.right_before is None else f"; {self.right_before / self.images:.1%} before"
        return f"{self.accuracy:.1%} of {self.images:,} test {examples} right{before}."


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    images: Dataset,
    needs: Preprocessing | None,
    accelerator: Accelerator,
    workers: int,
    shown: Sequence[int] = (),
    before: nn.Module | None = None,
) -> Score:
    """Every process takes every n-th batch; all of them get the same answer. `needs`: None where the examples are no
    pictures but what the model takes as it is. `shown`: the rows of some images whose answers are kept, asked once more
    in a batch of their own. `before`: the same model as it was, asked too."""
    model.eval()

    def logits_of(inputs: Any, model: nn.Module = model) -> Tensor:
        with accelerator.autocast():
            if needs is None:
                return model(*(each.to(accelerator.device) for each in inputs)).float()
            return model(normalised(inputs, needs, accelerator.device)).float()

    total = len(images)  # type: ignore[arg-type]
    keys = in_order(total, BATCH, accelerator.process_index, accelerator.num_processes)
    sums: Any = zeros(6, accelerator.device)  # loss, right examples, answers, all, right before, right both times
    for inputs, labels in loader(images, keys, workers):
        labels, logits = labels.to(accelerator.device), logits_of(inputs)
        right, counts = logits.argmax(-1) == labels, labels != IGNORED
        sums[0] += F.cross_entropy(logits.movedim(-1, 1), labels, reduction="sum", ignore_index=IGNORED)
        sums[1] += (whole := (right | ~counts).reshape(len(labels), -1).all(-1)).sum()
        sums[2] += right.sum()
        sums[3] += counts.sum()
        if before is not None:
            was_right = logits_of(inputs, before.eval()).argmax(-1) == labels
            sums[4] += was_right.sum()
            sums[5] += (was_right & whole).sum()
    if accelerator.num_processes > 1:
        sums = accelerator.reduce(sums, reduction="sum")
    loss, right, answers_right, answers, *of_both = (float(each) for each in sums)
    samples = []
    for pictures, labels in loader(images, [[(row, 0) for row in shown]], 0) if shown else ():
        samples = _answers(logits_of(pictures), labels, shown)
    of_answers = answers_right / answers if answers > total else None
    both = dict(zip(("right_before", "right_both"), map(int, of_both), strict=True)) if before is not None else {}
    return Score(loss / answers, right / total, total, samples, of_answers, **both)


def zeros(count: int, device: torch.device) -> Float[Tensor, " sum"]:
    """Sums to begin with, in double precision where the device is known to have it: Apple's GPUs have not."""
    return torch.zeros(count, device=device, dtype=torch.float64 if device.type in ("cpu", "cuda") else torch.float32)


def counted(values: Tensor, labels: Int[Tensor, "..."]) -> Tensor:
    """Of each answer that counts its value, one after another: of pictures all of them."""
    return values if labels.ndim == 1 else values[labels != IGNORED]


def _answers(logits: Tensor, labels: Tensor, rows: Sequence[int]) -> list[dict[str, Any]]:
    """The model's answers to the images of these rows of the split."""
    probability, predicted = logits.softmax(-1).max(-1)
    each = zip(rows, labels.tolist(), predicted.tolist(), probability.tolist(), strict=True)
    return [{"index": i, "label": y, "predicted": p, "probability": s} for i, y, p, s in each]
