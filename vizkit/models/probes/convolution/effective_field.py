"""The effective receptive field: how much each pixel really does to the unit in the middle of a map.

Luo, Li, Urtasun & Zemel 2016, Understanding the Effective Receptive Field in Deep CNNs (arXiv 1701.04128), § 2: the
gradient of the centre unit with respect to the pixels, averaged over images.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.models.probes.convolution.receptive_field import Walk, walk
from vizkit.models.recording.forward import run
from vizkit.models.recording.stages import gives_features
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable


@dataclass(frozen=True)
class EffectiveField:
    """Of the unit at `cell` (row, column) of a map of `grid`; its middle is `centre_yx`, pixels of the model's input.

    `share`: of the whole effect, |∂ Σ_k F_k(cell) / ∂ pixel| summed over colours, made 1 for each image and averaged.
    """

    grid: tuple[int, int]
    cell: tuple[int, int]
    centre_yx: tuple[float, float]
    share: Float[Tensor, "height width"]


def effective_fields(
    loaded: Loaded, images: Iterable[Float[Tensor, "1 channel height width"]]
) -> tuple[EffectiveField, ...]:
    """Of the middle of every feature map that leaves a stage or a block, the first first. One pass forwards for each
    image, and one backwards for each of these maps. NotApplicable where the model gives no maps with places."""
    if not gives_features(loaded.model):
        raise NotApplicable(f"{loaded.name} does not hand out the features between its stages.")
    totals: list[Tensor] = []
    shapes: list[tuple[int, int]] = []
    count = 0
    for image in images:
        pixels = image.to(loaded.device).detach().requires_grad_()
        with torch.enable_grad():
            _, maps, _, _ = run(loaded.model, pixels, True)
        maps = [each for each in maps if each.dim() == 4]
        if not maps:
            raise NotApplicable(f"{loaded.name} has no features with places in the image.")
        shapes = [(each.shape[-2], each.shape[-1]) for each in maps]
        effects = [_effect(each, pixels) for each in maps]
        totals = effects if not totals else [total + own for total, own in zip(totals, effects, strict=True)]
        count += 1
    if not totals:
        raise ValueError("An effective field is a mean over at least one image.")
    size_hw = (totals[0].shape[-2], totals[0].shape[-1])
    centres = _centres(loaded, shapes, size_hw)
    return tuple(
        EffectiveField(grid, (grid[0] // 2, grid[1] // 2), centre, (total / count).cpu())
        for grid, centre, total in zip(shapes, centres, totals, strict=True)
    )


def _effect(features: Tensor, pixels: Tensor) -> Float[Tensor, "height width"]:
    middle = features[0, :, features.shape[-2] // 2, features.shape[-1] // 2].sum()
    (gradient,) = torch.autograd.grad(middle, pixels, retain_graph=True)
    effect = gradient[0].abs().sum(0)
    return effect / effect.sum().clamp(min=torch.finfo(effect.dtype).tiny)


def _centres(loaded: Loaded, grids: list[tuple[int, int]], size_hw: tuple[int, int]) -> list[tuple[float, float]]:
    """The middle of each middle unit: of what it can see, for a CNN; else of its own share of the image."""
    try:
        walked: Walk | None = walk(loaded)
    except NotApplicable:
        walked = None
    centres = []
    for i, (rows, columns) in enumerate(grids):
        seen = walked.stages[i] if walked is not None and i < len(walked.stages) else None
        if seen is not None:
            centres.append((seen.rows.centre(rows // 2), seen.columns.centre(columns // 2)))
        else:
            centres.append(((rows // 2 + 0.5) * size_hw[0] / rows, (columns // 2 + 0.5) * size_hw[1] / columns))
    return centres
