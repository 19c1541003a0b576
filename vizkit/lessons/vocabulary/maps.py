"""Words about maps, places and numbers, whatever model they are of."""

import math

from vizkit.analysis.swin import receptive_field
from vizkit.analysis.swin.total_variation import total_variation
from vizkit.analysis.trust import randomisation
from vizkit.lessons.vocabulary.asking import VOCABULARY as VOCABULARY
from vizkit.lessons.vocabulary.asking import (
    Number,
    Place,
    plain,
    says,
)
from vizkit.traces import Map, NotApplicable


@plain
def largest(map: Map) -> Place:
    """The place of the largest value."""
    at = int(map.nan_to_num(-math.inf).argmax())
    return at // map.shape[1], at % map.shape[1]


@plain
def log(x: Number) -> float:
    """The natural logarithm; of less than 1e-30 that of 1e-30."""
    return math.log(max(x, 1e-30))


@plain
def holding(map: Map, share: Number = 0.5) -> int:
    """How many patches, the largest first, hold this share of a map."""
    return round(receptive_field.holding(map.clamp(min=0).nan_to_num(), share) * map.numel())


@plain
def correlation(one: Map, other: Map) -> float:
    """Rank correlation of two maps."""
    if one.shape != other.shape:
        sizes = " and ".join(f"{rows} × {columns}" for rows, columns in (one.shape, other.shape))
        raise NotApplicable(f"Maps of {sizes} places have no rank correlation.")
    return float(randomisation.spearman(one, other))


says("at", "The value of a map at a place.", lambda map, place: float(map[place]), plain)
says("peak", "The largest value of a map.", lambda map: float(map.nan_to_num(-math.inf).max()), plain)
says("total", "The sum of a map.", lambda map: float(map.nan_to_num().sum()), plain)
says(
    "overlap",
    "What two maps have on the same patches, 0 to 1.",
    lambda one, other: 1 - total_variation(one, other),
    plain,
)
says("apart", "How far two places lie apart, in patches.", lambda one, two: math.dist(one, two), plain)
says("exp", "eˣ.", lambda x: math.exp(min(x, 700)), plain)
says("sqrt", "√x.", lambda x: math.sqrt(max(x, 0)), plain)
