"""The tasks on texts behind the loop's protocol: translating, guessing hidden words, continuing a line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.data import Dataset

from vizkit.datasets.image_set import SPLITS
from vizkit.datasets.sequences.opening import open_pairs
from vizkit.models.networks.sequence_models import build
from vizkit.training.distillation import soft_targets
from vizkit.training.evaluating import Score, counted
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.training.sequences.card import CARD, HOW
from vizkit.training.sequences.lines import Lines
from vizkit.training.task import OF_PICTURES, Task, made, refuse_idle

COUNTS = {"train": 40_000, "val": 1000, "test": 2000}
"""Pairs of each split; the recipe's `images` may choose another number of those to learn from."""


@dataclass(frozen=True)
class SequenceTask(Task):
    """Translating, guessing hidden words or continuing a line."""

    sets: dict[str, Lines]
    examples, template = "texts", CARD

    def data(self, split: str, tell: Callable[[int], None]) -> Dataset:
        tell(len(self.sets[split]))
        return self.sets[split]

    def shown(
        self, inputs: tuple[Tensor, ...], labels: Int[Tensor, "text token"], *draw: Any
    ) -> tuple[tuple[Tensor, ...], Float[Tensor, "answer word"]]:
        """Ids as they are: what differs from epoch to epoch, the hidden words, was drawn when they were read."""
        expected, words = counted(labels, labels), len(self.sets["train"].vocabulary)
        return tuple(ids.to(labels.device) for ids in inputs), soft_targets(expected, words, self.recipe.smoothing)

    def config(self) -> dict[str, Any]:
        return super().config() | {"vocabulary": self.sets["train"].vocabulary.words}

    def told(self, run: RunFolder, tested: Score) -> dict[str, Any]:
        return {"how": HOW[run.recipe.task], "answers": 100 * (tested.answers_right or 0.0)}


def sequence_task(recipe: Recipe) -> SequenceTask:
    """Raises RecipeError or DatasetError with one sentence where something is not to be had."""
    refuse_idle(recipe, OF_PICTURES, f"images; {recipe.model} learns from texts.")
    counts = COUNTS | ({"train": recipe.images} if recipe.images else {})
    sets = {
        split: Lines(
            open_pairs(recipe.data, split, count=counts[split], seed=recipe.data_seed),
            recipe.task,
            learns=split == "train",
        )
        for split in SPLITS
    }
    torch.manual_seed(recipe.seed)
    model = made(recipe, build, len(sets["train"].vocabulary), recipe.model_args)
    return SequenceTask(recipe, model, sets)
