"""The two networks that enlarge, and what they make of an image and a reference."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vizkit.datasets.pairs.drawn import RGB, Pair
from vizkit.views.subject import OfModel, Subject

if TYPE_CHECKING:
    from vizkit.evaluation.super_resolution import Quality
    from vizkit.models.super_resolution import Enlarger, Seen

WITH, WITHOUT = "bundled:insects_ttsr", "bundled:insects_sr"
LEAST_SIDE = 11  # pixels of the window of SSIM


@dataclass(frozen=True, eq=False)
class Results:
    """`qualities`: of "with", "mixture", "without" and "bicubic"; none where the truth is not known. `blurred`: the
    place where bicubic interpolation is farthest from the true image, where that is not known from that without a
    reference: whatever the reference is, it stays."""

    pair: Pair
    seen: "Seen"
    without: RGB
    qualities: "dict[str, Quality]"
    blurred: tuple[int, int]


def enlarger(of: Subject, source: str) -> "Enlarger":
    from vizkit.models.super_resolution import open_enlarger

    return of.kept(OfModel(("enlarger", source)), lambda: open_enlarger(source))


def results(of: Subject, pair: Pair, key: Hashable) -> Results:
    """`key`: what tells the pair from others of this image."""
    return of.kept(("enlarged by a reference", key), lambda: _results(of, pair))


def _results(of: Subject, pair: Pair) -> Results:
    from vizkit.evaluation.super_resolution import quality_of
    from vizkit.models.super_resolution import enlarge, most_changed, see
    from vizkit.models.super_resolution.enlarging import pixels_of

    seen = see(enlarger(of, WITH), pair.small, pair.reference)
    without = enlarge(enlarger(of, WITHOUT), pair.small)
    ways = {"with": seen.hard, "mixture": seen.mixture, "without": without, "bicubic": seen.bicubic}
    known = min(pair.truth.shape[:2]) >= LEAST_SIDE
    qualities = {
        name: quality_of(pixels_of(rgb), pixels_of(pair.truth)) for name, rgb in (ways if known else {}).items()
    }
    return Results(pair, seen, without, qualities, most_changed(pair.truth if known else without, seen.bicubic))
