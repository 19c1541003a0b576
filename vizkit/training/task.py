"""What the training loop asks of a task, and all it knows of one: telling pictures apart (`picture_task`), texts
(`sequences.task`), enlarging pictures (`super_resolution.task`) or finding things in them (`detection.task`).

A batch is (what the model is shown, labels). Labels have one place for each answer: of pictures one for each picture,
of text one for each token, with IGNORED where no answer counts, of scenes a row of numbers for each thing. An example
is right when all its answers are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from torch import nn
from torch.utils.data import Dataset

from vizkit.training.evaluating import Score
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs import saving
from vizkit.training.runs.card import card_of_network
from vizkit.training.runs.folder import RunFolder

WRONG_ARGUMENTS = (TypeError, ValueError, RuntimeError, KeyError)
CHANGES = ("turn_deg", "randaugment", "mixup", "cutmix", "erasing", "drop_path", "patch_drop", "teacher")
"""Fields of a recipe that are for telling pictures apart …"""
OF_PICTURES = ("image_size", "pretrained", "train_blocks", "crop", *CHANGES)
"""… and those of a network that is shown pictures of any size."""


@dataclass(frozen=True)
class Task:
    """Model and data of one recipe. `model`: the one that learns, on the CPU. `sets`: by split, "train", "val" and
    "test".

    `examples`: what they are called, "images", "pairs" … `template`: the story of a finished run, see `runs.card`.
    `needs`: how pictures come before the model; None where it is shown tokens. `loss`: from the model's output and the
    targets of `shown` the loss, how many answers are right, and how many there are; None: cross-entropy of logits, and
    the teacher's part. `score`: (model, data, accelerator, workers, sampled) as a Score; None: `evaluating.evaluate`.
    `teacher`: logits for what the model is shown, where there is a model to learn from. `before`: the model as it was
    before its first step, where it knew these labels already. `parts`: what else learns, by name: saved with the state
    by `state_dict`, so that a resumed run goes on the same.
    """

    recipe: Recipe
    model: Any
    sets: Mapping[str, Any]

    examples: ClassVar[str]
    template: ClassVar[str]
    needs = None
    loss = None
    score = None
    teacher = before = None
    parts = MappingProxyType({})

    def data(self, split: str, tell: Callable[[int], None]) -> Dataset:
        """The examples as `batches.loader` takes them; `tell` hears how many are read."""
        raise NotImplementedError

    def shown(self, inputs: Any, labels: Any, *draw: Any) -> tuple[tuple[Any, ...], Any]:
        """What the model is given in a training step, and what it is compared with: the shares of every label in each
        answer that counts, or what the task's own `loss` takes.

        `labels`: on the device that the model is on. `draw`: what changes from step to step is drawn from it: `place`,
        epoch and step, from 0; `own`, which rows of the global batch these are; `batch`, of how many examples it is.
        """
        raise NotImplementedError

    def sampled(self) -> Sequence[int]:
        """The validation examples whose answers are kept after every epoch."""
        return ()

    def config(self) -> dict[str, Any]:
        """All that is needed to make the network again."""
        return {
            "architecture": self.recipe.model,
            "sizes": self.model.sizes,
            "task": self.recipe.task,
            "data": self.recipe.data,
            "license": self.recipe.licence or None,
        }

    def save(self, run: RunFolder, model: nn.Module) -> None:
        """The weights, and the config.json with which they can be opened."""
        saving.save_weights(run, model)
        run.write("config.json", self.config())

    def told(self, run: RunFolder, tested: Score) -> dict[str, Any]:
        """What `template` tells beside what any card does."""
        raise NotImplementedError

    def card(self, run: RunFolder, tested: Score) -> str:
        """The story of the finished run, as Markdown."""
        more = self.told(run, tested)
        return card_of_network(self.template, run, self.model, tested, len(self.sets["train"]), **more)


def refuse_idle(recipe: Recipe, idle: Iterable[str], why: str) -> None:
    """RecipeError where the recipe sets one of these fields, which do nothing here."""
    usual = Recipe()
    for name in idle:
        if getattr(recipe, name) != getattr(usual, name):
            raise RecipeError(f"The recipe's {name} is for {why}")


def made(recipe: Recipe, build: Callable[..., Any], *given: Any) -> Any:
    """The network of this name; RecipeError where its arguments do not make one."""
    try:
        return build(recipe.model, *given)
    except WRONG_ARGUMENTS as error:
        raise RecipeError(f"{recipe.model} cannot be made with these model arguments: {error}.") from None
