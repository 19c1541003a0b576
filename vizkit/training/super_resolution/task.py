"""The task of enlarging pictures behind the loop's protocol: L1 loss and what may be added, the best epoch by PSNR."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, PartialState
from jaxtyping import Float, UInt8
from torch import Tensor, nn
from torch.utils.data import Dataset

from vizkit.analysis.super_resolution.quality import psnr
from vizkit.datasets.archive import unpacked
from vizkit.datasets.image_set import SPLITS
from vizkit.datasets.opening import kind_of
from vizkit.datasets.pairs.drawn import DrawnPairs
from vizkit.datasets.pairs.folder import FolderPairs, open_folder_pairs
from vizkit.models.networks.super_resolution.parts import bicubic
from vizkit.models.networks.super_resolution.ttsr import TTSR, build
from vizkit.training.evaluating import Score, zeros
from vizkit.training.pictures.batches import Key, in_order, loader
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.super_resolution.card import CARD, DRAWN, FOLDER
from vizkit.training.super_resolution.losses import Adversary, Perceptual
from vizkit.training.task import OF_PICTURES, Task, made, refuse_idle

COUNTS = {"train": 800, "val": 48, "test": 120}
"""Scenes of each split; the recipe's `images` may choose another number of those to learn from."""
BATCH = 16

Pairs = DrawnPairs | FolderPairs
Bytes = UInt8[Tensor, "_picture _row _column 3"]


class Shown(Dataset):
    """One split as batches of 8-bit pictures: ((small, reference), truth). Scenes are drawn or read once and kept."""

    def __init__(self, pairs: Pairs, tell: Callable[[int], None]) -> None:
        self.pairs: Any = pairs  # whose scenes are of a kind of their own
        self.scenes: list[np.ndarray] = []
        for index in range(len(pairs)):
            self.scenes.append(pairs.scene(index))
            tell(index + 1)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitems__(self, keys: Sequence[Key]) -> tuple[tuple[Bytes, Bytes], Bytes]:
        posed = self.pairs.split == "train"
        pairs = [self.pairs.pair(index, seed, posed=posed, scene=self.scene) for index, seed in keys]
        small, reference, truth = (
            torch.from_numpy(np.stack([pair[part] for pair in pairs]))
            for part in range(3)  # type: ignore[arg-type]
        )
        return (small, reference), truth

    def scene(self, index: int) -> np.ndarray:
        return self.scenes[index]


def pixels_of(pictures: Bytes, device: torch.device) -> Float[Tensor, "_picture 3 _row _column"]:
    return pictures.to(device).permute(0, 3, 1, 2).float() / 255


@dataclass(frozen=True)
class EnlargingTask(Task):
    """Enlarging pictures; `perceptual` and `adversary`: what the recipe adds to the loss."""

    model: TTSR
    sets: dict[str, Pairs]
    perceptual: Perceptual | None = None
    adversary: Adversary | None = None
    examples, template = "pairs", CARD

    @property
    def parts(self) -> Mapping[str, Any]:
        return {"critic": self.adversary} if self.adversary else {}

    def data(self, split: str, tell: Callable[[int], None]) -> Dataset:
        return Shown(self.sets[split], tell)

    def shown(self, inputs: tuple[Bytes, Bytes], labels: Bytes, *draw: Any) -> tuple[tuple[Tensor, ...], Tensor]:
        """The small picture, the reference, and the truth, 0…1; how they are posed was drawn when they were read."""
        return tuple(pixels_of(each, labels.device) for each in inputs), pixels_of(labels, labels.device)

    def loss(self, enlarged: Tensor, truth: Tensor) -> tuple[Tensor, Tensor, int]:
        """The mean absolute error with what the recipe adds, how many pictures come nearer to the truth than bicubic
        ones, and how many there are. What bicubic gives is not computed in training: the number is that of the
        validation. The critic learns here, too."""
        enlarged = enlarged.float()
        total = (enlarged - truth).abs().mean()
        if self.perceptual:
            total = total + self.recipe.perceptual * self.perceptual(enlarged, truth)
        if self.adversary:
            self.adversary.learn(enlarged, truth)
            total = total + self.recipe.adversarial * self.adversary(enlarged)
        return total, torch.zeros((), dtype=torch.long, device=truth.device), len(truth)

    @torch.inference_mode()
    def score(self, model: nn.Module, data: Dataset, accelerator: Accelerator, workers: int, *sampled: Any) -> Score:
        """Accuracy here is the share of pairs that come nearer to the truth than bicubic interpolation, by PSNR."""
        model.eval()
        total = len(data)  # type: ignore[arg-type]
        keys = in_order(total, BATCH, accelerator.process_index, accelerator.num_processes)
        sums = zeros(3, accelerator.device)  # error, better than bicubic, dB
        for inputs, labels in loader(data, keys, workers):
            small, reference = (pixels_of(each, accelerator.device) for each in inputs)
            truth = pixels_of(labels, accelerator.device)
            with accelerator.autocast():
                enlarged = model(small, reference)
            own = psnr(enlarged, truth)
            sums[0] += (enlarged - truth).abs().mean((1, 2, 3)).sum()
            sums[1] += (own > psnr(bicubic(small, tuple(truth.shape[-2:])), truth)).sum()  # type: ignore[arg-type]
            sums[2] += own.sum()
        if accelerator.num_processes > 1:
            sums = accelerator.reduce(sums, reduction="sum")
        error, better, decibels = (float(each) / total for each in sums)
        return Score(error, better, total, [], psnr=decibels)

    def told(self, run: RunFolder, tested: Score) -> dict[str, Any]:
        val_psnr = max(line["val_psnr"] for line in run.metrics())
        return {
            "psnr": tested.psnr,
            "val_psnr": val_psnr,
            "pictures": DRAWN if run.recipe.data == "insects" else FOLDER,
        }


def enlarging_task(recipe: Recipe, device: torch.device | str = "cpu") -> EnlargingTask:
    """`device`: of the losses that the recipe adds. Raises RecipeError or DatasetError with one sentence where
    something is not to be had."""
    refuse_idle(recipe, (*OF_PICTURES, "smoothing"), f"telling images apart; {recipe.model} enlarges them.")
    counts = COUNTS | ({"train": recipe.images} if recipe.images else {})
    sets = {split: opened(recipe, split, counts[split]) for split in SPLITS}
    torch.manual_seed(recipe.seed)
    model = made(recipe, build, recipe.model_args)
    if recipe.adversarial and PartialState().num_processes > 1:
        raise RecipeError("A critic learns in one process: leave the adversarial loss out, or start one process.")
    where = torch.device(device)
    return EnlargingTask(
        recipe,
        model,
        sets,
        Perceptual(where) if recipe.perceptual else None,
        Adversary(where) if recipe.adversarial else None,
    )


def opened(recipe: Recipe, split: str, count: int) -> Pairs:
    """The pairs of a split: drawn, or of a folder or zip file of pictures."""
    if recipe.data == "insects":
        return DrawnPairs(split, count, recipe.data_seed)
    kind, detail = kind_of(recipe.data)
    if kind not in ("folder", "archive"):
        raise RecipeError(f"{recipe.model} learns from drawn insects, or from a folder or zip file of images.")
    path = unpacked(Path(detail)) if kind == "archive" else Path(detail)
    return open_folder_pairs(path, split, count, recipe.data_seed)
