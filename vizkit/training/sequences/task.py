"""The tasks on texts behind the loop's protocol: translating, guessing hidden words, continuing a line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.data import Dataset

from vizkit.datasets.image_set import SPLITS
from vizkit.datasets.sequences.opening import open_pairs
from vizkit.models.networks.sequence_models import build
from vizkit.training.distillation import soft_targets
from vizkit.training.evaluating import Score, counted
from vizkit.training.pictures.augmentation import Rows
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs import saving
from vizkit.training.runs.folder import RunFolder
from vizkit.training.sequences.card import card
from vizkit.training.sequences.lines import Lines

COUNTS = {"train": 40_000, "val": 1000, "test": 2000}
"""Pairs of each split; the recipe's `images` may choose another number of those to learn from."""
OF_PICTURES = (
    "image_size",
    "pretrained",
    "train_blocks",
    "crop",
    "turn_deg",
    "randaugment",
    "mixup",
    "cutmix",
    "erasing",
    "drop_path",
    "patch_drop",
    "teacher",
)


@dataclass(frozen=True)
class SequenceTask:
    """A `vizkit.training.task.Task`. The model is on the CPU."""

    recipe: Recipe
    model: nn.Module
    sets: dict[str, Lines]  # by split
    needs = teacher = loss = score = None
    parts = MappingProxyType({})
    examples = "texts"

    def data(self, split: str, tell: Callable[[int], None]) -> Dataset:
        tell(len(self.sets[split]))
        return self.sets[split]

    def shown(
        self,
        inputs: tuple[Tensor, ...],
        labels: Int[Tensor, "text token"],
        place: tuple[int, int],
        own: Rows,
        batch: int,
    ) -> tuple[tuple[Tensor, ...], Float[Tensor, "answer word"]]:
        """Ids as they are: what differs from epoch to epoch, the hidden words, was drawn when they were read."""
        del place, own, batch
        expected, words = counted(labels, labels), len(self.sets["train"].vocabulary)
        return tuple(ids.to(labels.device) for ids in inputs), soft_targets(expected, words, self.recipe.smoothing)

    def sampled(self) -> Sequence[int]:
        return ()

    def save(self, run: RunFolder, model: nn.Module) -> None:
        """config.json says all that is needed to make the network again: the architecture, its sizes, the words."""
        saving.save_weights(run, model)
        run.write(
            "config.json",
            {
                "architecture": self.recipe.model,
                "sizes": self.model.sizes,
                "task": self.recipe.task,
                "data": self.recipe.data,
                "vocabulary": self.sets["train"].vocabulary.words,
                "license": self.recipe.licence or None,
            },
        )

    def card(self, run: RunFolder, tested: Score) -> str:
        return card(run, self.model, tested, len(self.sets["train"]))


def sequence_task(recipe: Recipe) -> SequenceTask:
    """Raises RecipeError or DatasetError with one sentence where something is not to be had."""
    usual = Recipe()
    if idle := [name for name in OF_PICTURES if getattr(recipe, name) != getattr(usual, name)]:
        raise RecipeError(f"The recipe's {idle[0]} is for images; {recipe.model} learns from texts.")
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
    try:
        model = build(recipe.model, len(sets["train"].vocabulary), recipe.model_args)
    except (TypeError, ValueError, RuntimeError, KeyError) as error:
        raise RecipeError(f"{recipe.model} cannot be made with these model arguments: {error}.") from None
    return SequenceTask(recipe, model, sets)
