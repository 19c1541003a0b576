"""The effective receptive field: how much each pixel really does to the unit in the middle of a map.

Luo, Li, Urtasun & Zemel 2016, Understanding the Effective Receptive Field in Deep CNNs (arXiv 1701.04128), § 2: the
gradient of the centre unit with respect to the pixels, averaged over images.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.geometry import size_of
from vizkit.models.probes.convolution.receptive_field import Pair, Walk, walk
from vizkit.models.recording.forward import run
from vizkit.models.recording.stages import gives_features
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable

Point = tuple[float, float]


@dataclass(frozen=True)
class EffectiveField:
    """Of the unit at `cell` (row, column) of a map of `grid`; its middle is `centre_yx`, pixels of the model's input.

    `share`: of the whole effect, |∂ Σ_k F_k(cell) / ∂ pixel| summed over colours, made 1 for each image and averaged.
    """

    grid: Pair
    cell: Pair
    centre_yx: Point
    share: Float[Tensor, "height width"]


def effective_fields(
    loaded: Loaded,
    images: Iterable[Float[Tensor, "1 channel height width"]],
    only: int | None = None,
    point_xy: Point = (0.5, 0.5),
) -> tuple[EffectiveField, ...]:
    """Of a unit of every feature map that leaves a stage or a block, the first first; `only`: of this one, from 0.
    `point_xy`: where the unit is, in fractions of the map. One pass forwards for each image, and one backwards for each
    of these maps. NotApplicable where the model gives no maps with places."""
    if not gives_features(loaded.model):
        raise NotApplicable(f"{loaded.name} does not hand out the features between its stages.")
    wanted = slice(None) if only is None else slice(only, only + 1)
    totals: list[Tensor] = []
    shapes: list[Pair] = []
    count = 0
    for image in images:
        pixels = image.to(loaded.device).detach().requires_grad_()
        with torch.enable_grad():
            _, maps, _, _ = run(loaded.model, pixels, True)
        maps = [each for each in maps if each.dim() == 4]
        if not maps:
            raise NotApplicable(f"{loaded.name} has no features with places in the image.")
        shapes = [size_of(each) for each in maps]
        effects = [_effect(each, pixels, cell_in(size_of(each), point_xy)) for each in maps[wanted]]
        totals = effects if not totals else [total + own for total, own in zip(totals, effects, strict=True)]
        count += 1
    if not totals:
        raise ValueError("An effective field is a mean over at least one image.")
    size_hw = (totals[0].shape[-2], totals[0].shape[-1])
    cells = [cell_in(shape, point_xy) for shape in shapes]
    centres = _centres(loaded, shapes, cells, size_hw)
    return tuple(
        EffectiveField(grid, cell, centre, (total / count).cpu())
        for grid, cell, centre, total in zip(shapes[wanted], cells[wanted], centres[wanted], totals, strict=True)
    )


def cell_in(grid: Pair, point_xy: Point) -> Pair:
    return int(point_xy[1] * grid[0]), int(point_xy[0] * grid[1])


def _effect(features: Tensor, pixels: Tensor, cell: Pair) -> Float[Tensor, "height width"]:
    (gradient,) = torch.autograd.grad(features[0, :, cell[0], cell[1]].sum(), pixels, retain_graph=True)
    effect = gradient[0].abs().sum(0)
    return effect / effect.sum().clamp(min=torch.finfo(effect.dtype).tiny)


def _centres(loaded: Loaded, grids: list[Pair], cells: list[Pair], size_hw: Pair) -> list[Point]:
    """The middle of each unit: of what it can see, for a CNN; else of its own share of the image."""
    try:
        walked: Walk | None = walk(loaded)
    except NotApplicable:
        walked = None
    centres = []
    for i, ((rows, columns), (row, column)) in enumerate(zip(grids, cells, strict=True)):
        seen = walked.stages[i] if walked is not None and i < len(walked.stages) else None
        if seen is not None:
            centres.append((seen.rows.centre(row), seen.columns.centre(column)))
        else:
            centres.append(((row + 0.5) * size_hw[0] / rows, (column + 0.5) * size_hw[1] / columns))
    return centres
