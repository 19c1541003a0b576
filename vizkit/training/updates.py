"""One change of the weights after another: a batch goes through the model in parts, then the optimiser steps once."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import torch
from accelerate import Accelerator
from jaxtyping import Float, Int, Shaped
from timm.utils import ModelEmaV3
from torch import Tensor

from vizkit.training.distillation import mixed_loss
from vizkit.training.evaluating import counted, zeros
from vizkit.training.optimizing import optimizer_of
from vizkit.training.pictures.augmentation import Rows
from vizkit.training.pictures.batches import Batches, seed_of
from vizkit.training.recipe import Recipe
from vizkit.training.task import Task


class Updates:
    """The model that learns, what changes it, and its moving average. `live`: wrapped where processes share it."""

    def __init__(self, task: Task, recipe: Recipe, accelerator: Accelerator) -> None:
        self.task, self.recipe, self.accelerator = task, recipe, accelerator
        self.live, self.optimizer = accelerator.prepare(task.model, optimizer_of(task.model, recipe))
        self.ema = ModelEmaV3(task.model, decay=recipe.ema, use_warmup=True) if recipe.ema else None

    def one_step(
        self, shown: Iterator[Any], rate: float, place: tuple[int, int], batches: Batches
    ) -> Float[Tensor, "3"]:
        """Change the weights once. `shown`: (inputs, labels) of each part; `place`: epoch and step, from 0.

        Gives the loss, the number of right first choices, and that of answers. The loss is the mean over the parts, so
        its gradient is that of the whole batch.
        """
        recipe, accelerator, parts = self.recipe, self.accelerator, len(batches.own)
        sums = zeros(3, accelerator.device)
        for part, (inputs, labels) in enumerate(shown):
            # Dropout and drop path draw from the generator of the process.
            torch.manual_seed(seed_of(recipe.seed, *place, 4, accelerator.process_index * parts + part))
            last = part + 1 == parts  # processes tell one another their gradients only then
            with nullcontext() if last else accelerator.no_sync(self.live):
                labels = labels.to(accelerator.device)
                loss, right, answers = self.loss_of(inputs, labels, place, batches.own[part], batches.batch)
                accelerator.backward(loss / parts)
            sums += torch.stack([loss.detach() / parts, right, right.new_tensor(answers)])
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group.get("lr_scale", 1.0)
        if recipe.clip_norm:
            accelerator.clip_grad_norm_(self.live.parameters(), recipe.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.ema:
            self.ema.update(self.task.model, step=place[0] * batches.steps + place[1])
        return sums

    def loss_of(
        self, inputs: Any, labels: Shaped[Tensor, "..."], place: tuple[int, int], own: Rows, batch: int
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""], int]:
        """The loss of the rows `own` of a batch, how many answers are right, and how many there are."""
        given, targets = self.task.shown(inputs, labels, place, own, batch)
        with self.accelerator.autocast():
            outputs = self.live(*given)
            taught = self.task.teacher(*given) if self.task.teacher else None
        if self.task.loss:
            return self.task.loss(outputs, targets)
        heads = tuple(counted(each.float(), labels) for each in (outputs if isinstance(outputs, tuple) else (outputs,)))
        loss = mixed_loss((heads[0], heads[1]) if len(heads) == 2 else heads[0], targets, taught, self.recipe)
        expected = counted(labels, labels)
        return loss, (heads[0].argmax(-1) == expected).sum(), len(expected)
