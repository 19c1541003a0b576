"""Augmentation: what is done to single pictures before they become a batch, and to a whole batch at once.

Every number is drawn from the seeds of `batches.py`. RandAugment (Cubuk et al. 2020), random resized crops and erasing
(Zhong et al. 2020) are timm's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from timm.data.auto_augment import rand_augment_transform
from timm.data.random_erasing import RandomErasing
from timm.data.transforms import RandomResizedCropAndInterpolation
from torch import Tensor

from vizkit.image import Preprocessing
from vizkit.training.batches import Pixels, fitted
from vizkit.training.recipe import Recipe


def picture_changes(recipe: Recipe, needs: Preprocessing) -> Callable[[Image.Image], Image.Image] | None:
    """What is done to single pictures: random crop and RandAugment; None when the recipe has neither."""
    if recipe.crop == 1 and not recipe.randaugment:
        return None
    crop: Any = RandomResizedCropAndInterpolation(
        needs.size_hw, scale=(recipe.crop, 1.0), interpolation=needs.interpolation
    )
    grey = tuple(round(255 * value) for value in needs.mean)
    augment: Any = rand_augment_transform(recipe.randaugment, {"img_mean": grey}) if recipe.randaugment else None

    def change(picture: Image.Image) -> Image.Image:
        whole = recipe.crop == 1
        seen = Image.fromarray(fitted(np.asarray(picture), needs)) if whole else crop(picture)
        return augment(seen) if augment else seen

    return change


def batch_changes(pixels: Pixels, recipe: Recipe, draw: torch.Generator, own: slice, batch: int) -> Pixels:
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


def erasing(recipe: Recipe, device: torch.device) -> Callable[[Tensor], Tensor] | None:
    """timm's random erasing with noise, on a normalised batch."""
    return RandomErasing(recipe.erasing, mode="pixel", device=str(device)) if recipe.erasing else None
