"""What the networks make of a picture and a reference, computed once and kept."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from vizkit.ui.pages.super_resolution.given import Given
from vizkit.ui.session.remembered import remembered

if TYPE_CHECKING:
    from vizkit.evaluation.super_resolution import Quality
    from vizkit.models.super_resolution import Enlarger, Seen

RGB = UInt8[np.ndarray, "_row _column 3"]
WITH, WITHOUT = "bundled:insects_ttsr", "bundled:insects_sr"


@dataclass(frozen=True, eq=False)
class Results:
    """`qualities`: of "with", "mixture", "without" and "bicubic"; None where the truth is not known."""

    seen: "Seen"
    without: RGB
    qualities: "dict[str, Quality] | None"

    @property
    def trusted(self) -> float:
        """The share of places where a gate of any scale lets more than half of the texture through."""
        import torch

        return float((torch.stack(self.seen.gates).amax(0) > 0.5).float().mean())


@remembered
def enlarger(source: str) -> "Enlarger":
    from vizkit.models.super_resolution import open_enlarger

    return open_enlarger(source)


def results(given: Given) -> Results:
    return _results(given.digest, given)


@remembered
def _results(digest: str, _given: Given) -> Results:
    from vizkit.evaluation.super_resolution import quality_of
    from vizkit.models.super_resolution import enlarge, see
    from vizkit.models.super_resolution.enlarging import pixels_of

    seen = see(enlarger(WITH), _given.small, _given.reference)
    without = enlarge(enlarger(WITHOUT), _given.small)
    if _given.truth is None or min(_given.truth.shape[:2]) < 11:
        return Results(seen, without, None)
    truth = pixels_of(_given.truth)
    ways = {"with": seen.hard, "mixture": seen.mixture, "without": without, "bicubic": seen.bicubic}
    return Results(seen, without, {name: quality_of(pixels_of(rgb), truth) for name, rgb in ways.items()})
