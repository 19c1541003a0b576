"""The task of telling pictures apart: pictures, a model, its preprocessing, a teacher."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import timm.data
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.data import Dataset

import vizkit
from vizkit.datasets.balance import balanced_rows
from vizkit.datasets.image_set import ImageSet
from vizkit.datasets.opening import open_set
from vizkit.image import Preprocessing
from vizkit.training import architectures
from vizkit.training.evaluating import Score
from vizkit.training.optimizing import choose_trainable
from vizkit.training.pictures import augmentation, picture_cache
from vizkit.training.pictures.augmentation import Rows, Targets
from vizkit.training.pictures.batches import Fitted, normalised
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs import card, saving
from vizkit.training.runs.folder import RunFolder
from vizkit.training.task import Task

SAMPLES = 12

LUMINANCE = (0.299, 0.587, 0.114)
"""Of red, green and blue, as Pillow makes a picture grey (ITU-R BT.601)."""


@dataclass(frozen=True)
class Teacher:
    """A model that gives its logits only, and the student's preprocessing, which its images come in."""

    model: nn.Module
    its: Preprocessing
    own: Preprocessing

    @torch.no_grad()
    def __call__(self, pixels: Float[Tensor, "image channel height width"]) -> Float[Tensor, "image label"]:
        """Logits for the very images that the student is shown, in the teacher's own normalisation and channels."""
        words = [(each.mean, each.std, each.channel_order) for each in (self.own, self.its)]
        if words[0] != words[1]:
            mean, std, its_mean, its_std = (
                torch.tensor(each, device=pixels.device)[:, None, None]
                for each in (self.own.mean, self.own.std, self.its.mean, self.its.std)
            )
            shown = pixels * std + mean
            if self.its.channels < self.own.channels:
                shown = (shown * torch.tensor(LUMINANCE, device=pixels.device)[:, None, None]).sum(1, keepdim=True)
            shown = shown.flip(1) if words[0][2] != words[1][2] else shown
            pixels = (shown - its_mean) / its_std
        return self.model(pixels).float()


@dataclass(frozen=True)
class PictureTask(Task):
    """The teacher is on its device."""

    sets: dict[str, ImageSet]
    needs: Preprocessing
    teacher: Teacher | None
    before: nn.Module | None
    examples = "images"

    @property
    def labels(self) -> tuple[str, ...]:
        return self.sets["train"].labels

    def data(self, split: str, tell: Callable[[int], None]) -> Dataset:
        """The set as the model sees it; in memory where it fits and no single picture is changed."""
        images = self.sets[split]
        change = augmentation.picture_changes(self.recipe, self.needs) if split == "train" else None
        fitted = Fitted(images, self.needs, change)
        height, width = self.needs.size_hw
        if change or len(images) * height * width * 3 > picture_cache.MEMORY_BYTES:
            return fitted
        return picture_cache.in_memory(fitted, tell)

    def shown(
        self, inputs: Tensor, labels: Int[Tensor, " image"], place: tuple[int, int], own: Rows, batch: int
    ) -> tuple[tuple[Tensor], Targets]:
        """Pictures normalised and augmented, with their targets; see `augmentation.augmented`."""
        pixels = normalised(inputs, self.needs, labels.device)
        pixels, targets = augmentation.augmented(pixels, labels, len(self.labels), self.recipe, place, own, batch)
        return (pixels,), targets

    def sampled(self) -> Sequence[int]:
        return balanced_rows(self.sets["val"].targets, SAMPLES).tolist()

    def save(self, run: RunFolder, model: nn.Module) -> None:
        saving.save_best(run, model, self.labels)

    def card(self, run: RunFolder, tested: Score) -> str:
        return card.card(run, self.model, tested, len(self.sets["train"]))


def picture_task(recipe: Recipe, device: torch.device) -> PictureTask:
    """Raises RecipeError, DatasetError or ModelError with one sentence when something is not to be had."""
    labels = _opened(recipe, "train", 224).labels
    model, knows = architectures.start(recipe, labels)
    before = copy.deepcopy(model) if knows else None
    choose_trainable(model, recipe.train_blocks)
    needs = Preprocessing.from_config(timm.data.resolve_model_data_config(model))
    sets = {split: _opened(recipe, split, max(needs.size_hw)) for split in ("train", "val", "test")}
    for split, images in sets.items():
        if images.labels != labels:
            raise RecipeError(f"The {split} images of {recipe.data} have other classes than the training images.")
    return PictureTask(recipe, model, sets, needs, _teacher_of(recipe, labels, needs, device), before)


def _opened(recipe: Recipe, split: str, side: int) -> ImageSet:
    images = (recipe.images or None) if split == "train" else None
    return open_set(recipe.data, split, images=images, size_px=side, seed=recipe.data_seed)


def _teacher_of(recipe: Recipe, labels: tuple[str, ...], needs: Preprocessing, device: torch.device) -> Teacher | None:
    if not recipe.teacher:
        return None
    teacher = vizkit.load(recipe.teacher, device=device)
    if not teacher.head.exclusive:
        raise RecipeError(f"The teacher {teacher.name} gives {teacher.head.gives}; a student learns from a softmax.")
    names = (getattr(teacher.model, "pretrained_cfg", None) or {}).get("label_names") or teacher.labels
    if tuple(names) != labels:
        raise RecipeError(f"The teacher {teacher.name} does not know the classes of {recipe.data}.")
    if teacher.preprocessing.size_hw != needs.size_hw:
        its, own = ("×".join(map(str, each.size_hw)) for each in (teacher.preprocessing, needs))
        raise RecipeError(f"The teacher {teacher.name} sees {its} pixels, the student {own}; make them equal.")
    return Teacher(teacher.model, teacher.preprocessing, needs)
