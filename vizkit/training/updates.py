"""One change of the weights after another: a batch goes through the model in parts, then the optimiser steps once."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import torch
from accelerate import Accelerator
from jaxtyping import Float, Int
from timm.utils import ModelEmaV3
from torch import Tensor

from vizkit.training.distillation import mixed_loss
from vizkit.training.optimizing import optimizer_of
from vizkit.training.pictures.augmentation import Rows, augmented
from vizkit.training.pictures.batches import Batches, normalised, seed_of
from vizkit.training.recipe import Recipe
from vizkit.training.run_setup import RunSetup


class Updates:
    """The model that learns, what changes it, and its moving average. `live`: wrapped where processes share it."""

    def __init__(self, setup: RunSetup, recipe: Recipe, accelerator: Accelerator) -> None:
        self.setup, self.recipe, self.accelerator = setup, recipe, accelerator
        self.live, self.optimizer = accelerator.prepare(setup.model, optimizer_of(setup.model, recipe))
        self.ema = ModelEmaV3(setup.model, decay=recipe.ema, use_warmup=True) if recipe.ema else None

    def one_step(
        self, shown: Iterator[Any], rate: float, place: tuple[int, int], batches: Batches
    ) -> Float[Tensor, "3"]:
        """Change the weights once. `shown`: (pictures, labels) of each part; `place`: epoch and step, from 0.

        Gives the loss, the number of right first choices, and that of images. The loss is the mean over the parts, so
        its gradient is that of the whole batch.
        """
        recipe, accelerator, parts = self.recipe, self.accelerator, len(batches.own)
        sums = torch.zeros(3, device=accelerator.device, dtype=torch.float64)
        for part, (pictures, labels) in enumerate(shown):
            # Dropout and drop path draw from the generator of the process.
            torch.manual_seed(seed_of(recipe.seed, *place, 4, accelerator.process_index * parts + part))
            last = part + 1 == parts  # processes tell one another their gradients only then
            with nullcontext() if last else accelerator.no_sync(self.live):
                loss, right = self.loss_of(pictures, labels.to(accelerator.device), place, batches, batches.own[part])
                accelerator.backward(loss / parts)
            sums += torch.stack([loss.detach() / parts, right, right.new_tensor(len(labels))])
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group.get("lr_scale", 1.0)
        if recipe.clip_norm:
            accelerator.clip_grad_norm_(self.live.parameters(), recipe.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.ema:
            self.ema.update(self.setup.model, step=place[0] * batches.steps + place[1])
        return sums

    def loss_of(
        self, pictures: Tensor, labels: Int[Tensor, " image"], place: tuple[int, int], batches: Batches, own: Rows
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """The loss of the rows `own` of a batch, and how many first choices are right."""
        setup, recipe = self.setup, self.recipe
        pixels = normalised(pictures, setup.needs, self.accelerator.device)
        pixels, targets = augmented(pixels, labels, len(setup.labels), recipe, place, own, batches.batch)
        with self.accelerator.autocast():
            outputs = self.live(pixels)
            taught = setup.teacher(pixels) if setup.teacher else None
        heads = tuple(each.float() for each in (outputs if isinstance(outputs, tuple) else (outputs,)))
        loss = mixed_loss((heads[0], heads[1]) if len(heads) == 2 else heads[0], targets, taught, recipe)
        return loss, (heads[0].argmax(-1) == labels).sum()
