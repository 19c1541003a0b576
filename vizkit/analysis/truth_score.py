"""A map against a mask: where the thing really is, or the parts that tell its class.

Pointing game: Zhang et al. 2016 (arXiv 1608.00507), § 4.1. Mass on the mask is the energy-based pointing game of Wang
et al. 2020 (arXiv 1910.01279), § 4.3. A map may be right about the model and still miss the thing, when the model
decides by its surroundings: these scores ask for both at once.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.analysis.subject import on_cells
from vizkit.image import Preprocessing, prepare
from vizkit.trace import NotApplicable

TOLERANCE = 0.03
"""Of the longer side of the input; 15 pixels in the 500-pixel pictures of Zhang et al."""


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known of a picture, on the pixels of the model's input: the thing, the parts that tell its class."""

    thing: Bool[Tensor, "height width"]
    deciding: Bool[Tensor, "height width"] | None = None


@dataclass(frozen=True)
class Placed:
    """`pointing`: the hottest pixel is on the thing. `on_thing`, `on_deciding`: share of the map's positive mass.

    `per_pixel`: mass per pixel on the thing over that beside it, 1 for a map that knows nothing; likewise
    `deciding_per_pixel`. `thing_share`, `deciding_share`: of the input's pixels, which is what an even map would get.
    """

    pointing: bool
    on_thing: float
    per_pixel: float
    thing_share: float
    on_deciding: float | None = None
    deciding_per_pixel: float | None = None
    deciding_share: float | None = None


def seen_mask(mask: Bool[np.ndarray, "height width"], preprocessing: Preprocessing) -> Bool[Tensor, "rows columns"]:
    """A mask on a picture, resized and cropped as the model's input is."""
    plain = replace(preprocessing, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), channels=3)
    grey = np.repeat(mask[..., None].astype(np.uint8) * 255, 3, 2)
    return torch.from_numpy(prepare(grey, plain)[0][0] >= 0.5)


def placed(heat: Float[Tensor, "row column"], truth: Truth, tolerance: float = TOLERANCE) -> Placed:
    """All scores of one map; NotApplicable where it has no positive value or the mask is empty or everything."""
    on_thing, per_pixel, thing_share = mass(heat, truth.thing)
    deciding = (None, None, None) if truth.deciding is None else mass(heat, truth.deciding)
    return Placed(pointing(heat, truth.thing, tolerance), on_thing, per_pixel, thing_share, *deciding)


def pointing(
    heat: Float[Tensor, "row column"], mask: Bool[Tensor, "height width"], tolerance: float = TOLERANCE
) -> bool:
    """Whether the hottest pixel of the map, enlarged bilinearly, lies on the mask or within `tolerance` of the longer
    side of it: within a square around it. Of equal pixels the first counts.
    """
    size = (mask.shape[0], mask.shape[1])
    large = F.interpolate(heat[None, None].float(), size, mode="bilinear", align_corners=False)[0, 0]
    row, column = divmod(int(large.argmax()), size[1])
    reach = round(tolerance * max(size))
    near = mask[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1]
    return bool(near.any())


def mass(heat: Float[Tensor, "row column"], mask: Bool[Tensor, "height width"]) -> tuple[float, float, float]:
    """(share of the positive mass on the mask, mass per pixel on it over beside it, share of the pixels in it).

    A cell's mass is spread evenly over its pixels, so a cell on the edge counts in proportion.
    """
    share = float(mask.double().mean())
    if not 0 < share < 1:
        raise NotApplicable("The mask is empty or covers everything, so nothing can be scored against it.")
    positive = heat.double().clamp(min=0)
    if not float(positive.sum()) > 0:
        raise NotApplicable("No place speaks for the class on this map, so there is no mass to score.")
    inside = on_cells(mask.double(), (heat.shape[0], heat.shape[1]))
    on = float((positive * inside).sum() / positive.sum())
    return on, (on / share) / max((1 - on) / (1 - share), 1e-9), share
