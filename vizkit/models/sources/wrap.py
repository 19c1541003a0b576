"""Any module of anybody's as a `Loaded`: what a file or timm would have said about it, its owner says."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from vizkit.image import Preprocessing
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import Loaded, logits_of, with_head

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def wrap(
    module: Any,
    *,
    size_hw: tuple[int, int] = (224, 224),
    mean: Sequence[float] = IMAGENET_MEAN,
    std: Sequence[float] = IMAGENET_STD,
    labels: Sequence[str] = (),
    grid: tuple[int, int] | None = None,
    crop_pct: float = 1.0,
    crop_mode: str = "center",
    interpolation: str = "bicubic",
    name: str = "",
    device: str | torch.device | None = None,
    head: str | None = None,
) -> Loaded:
    """A module that takes pictures, (image, channel, height, width), as a model to look at.

    `size_hw` of its input in pixels; `mean` and `std` on the scale 0–1, one number for each channel (1 or 3), by which
    (rgb / 255 − mean) / std is what it was trained on; `labels` in the order of its outputs. `grid`: (rows, columns) of
    its patches, where you know them; otherwise they are measured. `head`: what the outputs are, "softmax" over classes,
    "sigmoid" for each of several labels, "regression" or "embedding" (`vizkit.heads`); left out, it is guessed from
    their number, which a pass with an empty picture counts where the module and `labels` do not say it. `device=None`
    leaves the module where it is.

    The module itself is used: it is set to evaluation mode, and its parameters take no gradients any more. What it
    returns may be a tensor (image, class), or hold one: the first of a tuple, `logits` of an object. Raises ModelError.
    """
    if not isinstance(module, nn.Module):
        raise ModelError(f"wrap takes a torch module, and this is a {type(module).__name__}.")
    try:
        preprocessing = Preprocessing(
            (int(size_hw[0]), int(size_hw[1])),
            tuple(map(float, mean)),
            tuple(map(float, std)),
            crop_pct,
            crop_mode,
            interpolation,
            len(tuple(mean)),
        )
    except (TypeError, ValueError) as error:
        raise ModelError(f"This module cannot be shown: {error}") from None
    weight = next(module.parameters(), torch.empty(0))
    chosen = weight.device if device is None else torch.device(device)
    if chosen.type == "meta":
        raise ModelError("This module has no weights yet (they are on the meta device); load them first.")
    module.to(chosen).eval().requires_grad_(False)
    title = name or type(module).__name__
    loaded = Loaded(
        title,
        module,
        chosen,
        preprocessing,
        tuple(map(str, labels)),
        "wrapped module",
        "not stated",
        grid=grid,
        outputs=_outputs(module, tuple(labels), torch.zeros(1, preprocessing.channels, *preprocessing.size_hw)),
    )
    return loaded if head is None else with_head(loaded, head)


def _outputs(module: nn.Module, labels: Sequence[str], nothing: torch.Tensor) -> int | None:
    """How many numbers the module gives for a picture, None where it does not run; then its first picture says why."""
    count = getattr(module, "num_classes", None)
    if isinstance(count, int) or labels:
        return count if isinstance(count, int) else len(labels)
    weight = next(module.parameters(), nothing)
    try:
        with torch.no_grad():
            return logits_of(module(nothing.to(weight))).numel()
    except Exception:  # every module has its own way to refuse
        return None
