"""What a recipe makes of pictures before a model learns from them: the loop's own code on one batch of them."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image

from vizkit.image import Preprocessing, unprepare
from vizkit.training.pictures.augmentation import augmented, picture_changes
from vizkit.training.pictures.batches import drawn_from, fitted, normalised, seed_of
from vizkit.training.recipe import Recipe

Rgb = UInt8[np.ndarray, "_row _column 3"]


def learned_from(pictures: Sequence[Rgb], recipe: Recipe, needs: Preprocessing, draw: int) -> list[Rgb]:
    """The pictures of a batch, each as the model would get it; another `draw`, 0 or more, is another step of it."""
    change, seen = picture_changes(recipe, needs), list[np.ndarray]()
    for row, rgb in enumerate(pictures):
        with drawn_from(seed_of(recipe.seed, draw, row)):
            seen.append(np.array(change(Image.fromarray(rgb))) if change else fitted(rgb, needs))
    batch = normalised(torch.from_numpy(np.stack(seen)), needs, torch.device("cpu"))
    rows, labels = np.arange(len(batch)), torch.zeros(len(batch), dtype=torch.int64)
    pixels, _ = augmented(batch, labels, 2, recipe, (0, draw), rows, len(batch))
    return [unprepare(each.numpy(), needs) for each in pixels]
