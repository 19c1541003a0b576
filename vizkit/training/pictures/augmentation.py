"""Augmentation: what is done to single pictures before they become a batch, and to a whole batch at once.

Every number follows from the recipe's seed, the epoch, and the place of a picture or a step in it. RandAugment (Cubuk
et al. 2020) and random resized crops are timm's.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from PIL import Image
from timm.data.auto_augment import rand_augment_transform
from timm.data.transforms import RandomResizedCropAndInterpolation
from torch import Tensor

from vizkit.image import Preprocessing
from vizkit.training.distillation import soft_targets
from vizkit.training.pictures.batches import Pixels, fitted, seed_of
from vizkit.training.recipe import Recipe

Rows = Int[np.ndarray, " image"]
Targets = Float[Tensor, "image label"]
ERASED_AREA, ERASED_ASPECT, ATTEMPTS = (0.02, 1 / 3), (0.3, 1 / 0.3), 10  # timm's, after Zhong et al.


def picture_changes(recipe: Recipe, needs: Preprocessing) -> Callable[[Image.Image], Image.Image] | None:
    """What is done to single pictures: random crop and RandAugment; None when the recipe has neither."""
    if recipe.crop == 1 and not recipe.randaugment:
        return None
    crop: Any = RandomResizedCropAndInterpolation(
        needs.size_hw, scale=(recipe.crop, 1.0), interpolation=needs.interpolation
    )
    augment = rand_augment(recipe, needs) if recipe.randaugment else None

    def change(picture: Image.Image) -> Image.Image:
        whole = recipe.crop == 1
        seen = Image.fromarray(fitted(np.asarray(picture), needs)) if whole else crop(picture)
        return augment(seen) if augment else seen

    return change


def rand_augment(recipe: Recipe, needs: Preprocessing) -> Any:
    """timm's RandAugment; its fill is the grey that is 0 to the model."""
    grey = tuple(round(255 * value) for value in needs.mean)
    transform: Any = rand_augment_transform(recipe.randaugment, {"img_mean": grey})
    for operation in transform.ops:
        if operation.name.startswith("Posterize"):
            operation.aug_fn = partial(_at_least_a_bit, operation.aug_fn)
    return transform


def _at_least_a_bit(posterize: Callable[..., Image.Image], picture: Image.Image, bits: int, **how: Any) -> Image.Image:
    """At full strength timm keeps 0 bits, which newer Pillows refuse."""
    return posterize(picture, max(1, bits), **how)


def augmented(
    pixels: Pixels,
    labels: Int[Tensor, " image"],
    classes: int,
    recipe: Recipe,
    place: tuple[int, int],
    own: Rows,
    batch: int,
) -> tuple[Pixels, Targets]:
    """What the model is shown of a normalised batch or of a part of it, and what it is to answer.

    `place`: epoch and step, from 0. `own`: which rows of the global batch of `batch` pictures these are. Every part of
    a batch comes out as it would in the whole one.
    """
    draw = torch.Generator().manual_seed(seed_of(recipe.seed, *place, 1))
    pixels = batch_changes(pixels, recipe, draw, own, batch)
    if recipe.mixes:
        pixels, share = mixed(pixels, recipe, np.random.default_rng([recipe.seed, *place, 2]))
    else:
        share = 1.0
    targets = soft_targets(labels, classes, recipe.smoothing)
    if share < 1:
        targets = share * targets + (1 - share) * targets.flip(0)
    if recipe.erasing:
        for row, picture in zip(own.tolist(), pixels, strict=True):
            erase(picture, recipe.erasing, np.random.default_rng([recipe.seed, *place, 3, row]))
    return pixels, targets


def batch_changes(pixels: Pixels, recipe: Recipe, draw: torch.Generator, own: Rows | slice, batch: int) -> Pixels:
    """Flip, turn, shift and scale a batch at once. Numbers are drawn for the whole batch; `own` is this process's."""
    flip = torch.rand(batch, generator=draw) < recipe.flip
    turn, right, down, size = (2 * torch.rand(4, batch, generator=draw) - 1).unbind()
    if recipe.turn_deg:
        angle, scale = torch.deg2rad(turn * recipe.turn_deg), 1 + 0.15 * size
        cosine, sine = angle.cos() / scale, angle.sin() / scale
        mirror = torch.where(flip, -1.0, 1.0)
        rows = (
            torch.stack([cosine * mirror, -sine, 0.16 * right], -1),  # the unit is half a picture
            torch.stack([sine * mirror, cosine, 0.16 * down], -1),
        )
        grid = F.affine_grid(torch.stack(rows, 1)[own].to(pixels.device), list(pixels.shape), align_corners=False)
        turned = F.grid_sample(pixels, grid, padding_mode="reflection", align_corners=False)
        if recipe.square_px == 1:
            return turned
        # Slopes inside a square, which no real picture of the set has, would be what a ViT learns to read.
        return F.interpolate(F.avg_pool2d(turned, recipe.square_px), scale_factor=recipe.square_px)
    return torch.where(flip[own].to(pixels.device)[:, None, None, None], pixels.flip(-1), pixels)


def mixed(pixels: Pixels, recipe: Recipe, draw: np.random.Generator) -> tuple[Pixels, float]:
    """Each picture with the one at its place from the end: Mixup (Zhang et al. 2018) or CutMix (Yun et al. 2019), one
    of the two and one share λ for the whole batch. Gives λ, the first picture's share, too."""
    cut = bool(recipe.cutmix) and (not recipe.mixup or draw.random() < 0.5)
    strength = recipe.cutmix if cut else recipe.mixup
    share = float(draw.beta(strength, strength))
    if not cut:
        return pixels.flip(0).lerp_(pixels, share), share
    (top, bottom), (left, right) = (_cut_along(side, share, draw) for side in pixels.shape[-2:])
    pixels = pixels.clone()
    pixels[..., top:bottom, left:right] = pixels.flip(0)[..., top:bottom, left:right]
    height, width = pixels.shape[-2:]
    return pixels, 1 - (bottom - top) * (right - left) / (height * width)


def _cut_along(side: int, share: float, draw: np.random.Generator) -> tuple[int, int]:
    """CutMix's rectangle along one side: √(1 − λ) of it around a place anywhere, as far as it lies inside."""
    half, middle = int(side * math.sqrt(1 - share)) // 2, int(draw.integers(side))
    return max(0, middle - half), min(side, middle + half)


def erase(picture: Float[Tensor, "channel height width"], chance: float, draw: np.random.Generator) -> None:
    """Random erasing (Zhong et al. 2020) of a normalised picture, in place: one rectangle, filled with normal noise."""
    if draw.random() >= chance:
        return
    channels, height, width = picture.shape
    for _ in range(ATTEMPTS):
        area, aspect = draw.uniform(*ERASED_AREA) * height * width, math.exp(draw.uniform(*np.log(ERASED_ASPECT)))
        rows, columns = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if rows < height and columns < width:
            top, left = (int(draw.integers(free + 1)) for free in (height - rows, width - columns))
            noise = draw.standard_normal((channels, rows, columns), np.float32)
            picture[:, top : top + rows, left : left + columns].copy_(torch.from_numpy(noise))
            return
