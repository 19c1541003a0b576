"""A map against a mask: where the thing really is, or the parts that decide its class.

Pointing game: Zhang et al. 2016 (arXiv 1608.00507), § 4.1. Mass on the mask is the energy-based pointing game of Wang
et al. 2020 (arXiv 1910.01279), § 4.3. A map may be right about the model and still miss the thing, when the model
decides by its surroundings: these scores ask for both at once.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool
from torch import Tensor

from vizkit.analysis.attribution.subject import on_cells
from vizkit.image import Preprocessing, seen
from vizkit.traces import Map, NotApplicable

TOLERANCE = 0.03
"""Of the longer side of the input; 15 pixels in the 500-pixel images of Zhang et al."""


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known of an image, on the pixels of the model's input: the thing, the parts that decide its class."""

    thing: Bool[Tensor, "height width"]
    deciding: Bool[Tensor, "height width"] | None = None


@dataclass(frozen=True)
class Placed:
    """`pointing`: the hottest pixel is on the thing or within the tolerance of it; `pointing_strict`: it is on it.

    `on_thing`, `on_deciding`: share of the map's positive mass. `per_pixel`: mass per pixel on the thing over that
    beside it, 1 for a random map; likewise `deciding_per_pixel`.

    By chance: `near_share`, of the pixels at which `pointing` is true, for a point put anywhere;
    `thing_share` for a point that has to be on the thing, and for the mass of an even map; `deciding_share` likewise.
    """

    pointing: bool
    pointing_strict: bool
    near_share: float
    on_thing: float
    per_pixel: float
    thing_share: float
    on_deciding: float | None = None
    deciding_per_pixel: float | None = None
    deciding_share: float | None = None


def seen_mask(mask: Bool[np.ndarray, "height width"], preprocessing: Preprocessing) -> Bool[Tensor, "rows columns"]:
    """A mask on an image, resized and cropped as the model's input is."""
    grey = np.repeat(mask[..., None].astype(np.uint8) * 255, 3, 2)
    both = (seen(each, preprocessing)[..., 0].astype(int) for each in (grey, np.zeros_like(grey)))
    return torch.from_numpy(next(both) - next(both) >= 128)


def placed(heat: Map, truth: Truth, tolerance: float = TOLERANCE) -> Placed:
    """All scores of one map; NotApplicable where it has no positive value or the mask is empty or everything."""
    on_thing = mass(heat, truth.thing)
    on_deciding = (None, None, None) if truth.deciding is None else mass(heat, truth.deciding)
    allowed = _near(truth.thing, tolerance)
    hit, strict = (pointing(heat, mask, 0.0) for mask in (allowed, truth.thing))
    return Placed(hit, strict, float(allowed.double().mean()), *on_thing, *on_deciding)


def pointing(heat: Map, mask: Bool[Tensor, "height width"], tolerance: float = TOLERANCE) -> bool:
    """Whether the hottest pixel of the map, enlarged bilinearly, lies on the mask or `_near` it. Of equal pixels the
    first counts.
    """
    size = (mask.shape[0], mask.shape[1])
    large = F.interpolate(heat[None, None].float(), size, mode="bilinear", align_corners=False)[0, 0]
    return bool(_near(mask, tolerance).flatten()[large.argmax()])


def _near(mask: Bool[Tensor, "height width"], tolerance: float) -> Bool[Tensor, "height width"]:
    """The mask and what is within `tolerance` of the longer side of it, in a square around each pixel."""
    reach = round(tolerance * max(mask.shape))
    return F.max_pool2d(mask[None].float(), 2 * reach + 1, stride=1, padding=reach)[0] > 0


def mass(heat: Map, mask: Bool[Tensor, "height width"]) -> tuple[float, float, float]:
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
