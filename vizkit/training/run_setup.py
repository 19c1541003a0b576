"""What a run needs before its first step, by the task of its recipe."""

import torch

from vizkit.training.detection.mask_task import mask_task
from vizkit.training.detection.task import detecting_task
from vizkit.training.picture_task import picture_task
from vizkit.training.recipe import Recipe
from vizkit.training.sequences.task import sequence_task
from vizkit.training.super_resolution.task import enlarging_task
from vizkit.training.task import Task


def set_up(recipe: Recipe, device: torch.device) -> Task:
    """Raises RecipeError, DatasetError or ModelError with one sentence when something is not to be had."""
    if recipe.task == "classify":
        return picture_task(recipe, device)
    if recipe.task == "detect":
        return detecting_task(recipe)
    if recipe.task == "masks":
        return mask_task(recipe)
    return enlarging_task(recipe, device) if recipe.task == "enlarge" else sequence_task(recipe)
