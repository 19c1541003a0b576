"""Augmentation as one picture meets it: the loop's own code on a batch of one or two, drawn again from seeds.

RandAugment (Cubuk et al. 2020) and stochastic depth (Huang et al. 2016) are timm's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from PIL import Image
from timm.layers import DropPath, calculate_drop_path_rates

from vizkit.image import RGB, Preprocessing, prepare, unprepare
from vizkit.training.distillation import soft_targets
from vizkit.training.pictures import augmentation
from vizkit.training.pictures.augmentation import picture_changes, rand_augment
from vizkit.training.pictures.batches import drawn_from
from vizkit.training.recipe import Recipe

APPLIED = 0.5
"""The probability with which timm applies each operation that RandAugment has drawn."""


@dataclass(frozen=True)
class Changed:
    """A picture as the model gets it, and in words what was done."""

    picture: RGB
    words: str


@dataclass(frozen=True)
class Mixed:
    """Two pictures as one. `share`: λ, of the first one; `label`: what the loss compares with, sums to 1."""

    picture: RGB
    share: float
    label: Float[np.ndarray, " label"]


def _rand_augment_name(magnitude: int, operations: int) -> str:
    """As a recipe takes it; magnitudes vary by half a step, and all operations grow stronger with them."""
    return f"rand-m{magnitude}-n{operations}-mstd0.5-inc1"


def rand_augmented(
    rgb: RGB, needs: Preprocessing, magnitude: int, operations: int, seeds: Sequence[int]
) -> list[Changed]:
    """RandAugment at `magnitude`, 0 to 10, with so many operations drawn, of which each is applied with `APPLIED`."""
    recipe = Recipe(randaugment=_rand_augment_name(magnitude, operations))
    change = picture_changes(recipe, needs)
    assert change is not None
    changed = []
    for seed in seeds:
        with drawn_from(seed):
            picture = np.array(change(Image.fromarray(rgb)))
        changed.append(Changed(picture, " + ".join(_operations_of(recipe, needs, seed)) or "nothing this time"))
    return changed


def _operations_of(recipe: Recipe, needs: Preprocessing, seed: int) -> list[str]:
    """Which operations this seed applies. timm does not return them, so each is watched while it runs once more."""
    augment = rand_augment(recipe, needs)
    applied: list[str] = []
    for operation in augment.ops:
        operation.aug_fn = _watched(operation.aug_fn, operation.name, applied)
    with drawn_from(seed):
        augment(Image.new("RGB", (needs.size_hw[1], needs.size_hw[0])))
    return applied


def _watched(function: Any, name: str, applied: list[str]) -> Any:
    """The same function, which writes its name down when it is called."""

    def call(*arguments: Any, **named: Any) -> Any:
        applied.append(name.removesuffix("Increasing").removesuffix("Rel"))
        return function(*arguments, **named)

    return call


def erased(rgb: RGB, needs: Preprocessing, chance: float, seeds: Sequence[int] | Sequence[list[int]]) -> list[Changed]:
    """Random erasing of one rectangle of 2 to 33 % of the area, filled with noise, with a chance of 0 to 1."""
    changed = []
    before = torch.from_numpy(prepare(rgb, needs)[0])
    for seed in seeds:
        pixels = before.clone()
        augmentation.erase(pixels, chance, np.random.default_rng(seed))
        share = float((pixels != before).any(0).float().mean())
        changed.append(Changed(unprepare(pixels.numpy(), needs), f"{share:.0%} erased" if share else "kept"))
    return changed


def mixed(
    pictures: tuple[np.ndarray, np.ndarray],
    labels: tuple[int, int],
    classes: int,
    needs: Preprocessing,
    recipe: Recipe,
    seed: int,
) -> Mixed:
    """Mixup or CutMix, whichever of the two the recipe has, of a picture with its partner (RGB of any two sizes).

    `labels`: class indices of both; the recipe's smoothing is spread over all `classes`.
    """
    pixels = torch.stack([torch.from_numpy(prepare(rgb, needs)[0]) for rgb in pictures])
    out, share = augmentation.mixed(pixels, recipe, np.random.default_rng(seed))
    targets = soft_targets(torch.tensor(labels), classes, recipe.smoothing)
    return Mixed(unprepare(out[0].numpy(), needs), share, (share * targets[0] + (1 - share) * targets[1]).numpy())


def chances(rate: float, blocks: int) -> list[float]:
    """How likely each block is skipped in a training step: from 0 in the first to `rate` in the last, evenly."""
    rates: Any = calculate_drop_path_rates(rate, blocks)
    return rates


def skipped(by_branch: Sequence[float], images: int, seed: int) -> Bool[np.ndarray, "image branch"]:
    """One draw: which residual branches each image of a batch goes past."""
    with drawn_from(seed):
        rows = [DropPath(chance).train()(torch.ones(images, 1))[:, 0] == 0 for chance in by_branch]
    return torch.stack(rows, 1).numpy()


@dataclass(frozen=True)
class Ablation:
    """Top-1 accuracy on ImageNet, percent: of DeiT-B trained at 224², and fine-tuned at 384²."""

    change: str
    at_224: float
    at_384: float


BASELINE = Ablation("DeiT-B as published", 81.8, 83.1)
ABLATION = (  # Touvron et al. 2021, table 8
    Ablation("SGD for pre-training", 74.5, 77.3),
    Ablation("SGD for fine-tuning", 81.8, 83.1),
    Ablation("no RandAugment", 79.6, 80.4),
    Ablation("AutoAugment instead", 81.2, 81.9),
    Ablation("no Mixup", 78.7, 79.8),
    Ablation("no CutMix", 80.0, 80.6),
    Ablation("neither Mixup nor CutMix", 75.8, 76.7),
    Ablation("no repeated augmentation", 76.5, 77.4),
    Ablation("with dropout", 81.3, 83.1),
    Ablation("with a moving average", 81.9, 83.1),
)
FAILED = (Ablation("no erasing", 4.3, 0.1), Ablation("no stochastic depth", 3.4, 0.1))
"""Runs that did not train; the paper says that other hyper-parameters might have made them."""
