"""How much better than chance each of several maps is on one picture, with few passes: deletion and insertion."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from vizkit.analysis.attribution.explaining import Explanation, on_patches
from vizkit.analysis.attribution.subject import Progress, Subject
from vizkit.analysis.trust.deletion import curves, random_curves
from vizkit.analysis.trust.scores import undecided

__all__ = ["Trusted", "quick_trust"]

STEPS = 10


@dataclass(frozen=True)
class Trusted:
    """`gains`: of each method the mean of what its deletion area lies below that of random orders and its insertion
    area above, −1 to 1; empty where nothing is ranked, and `undecided` says why, as a clause."""

    gains: Mapping[str, float] = field(default_factory=dict)
    undecided: str = ""


def quick_trust(subject: Subject, maps: Mapping[str, Explanation], progress: Progress | None = None) -> Trusted:
    """All maps of one picture. Costs 2 · STEPS − 2 forward passes for each and as many for chance."""
    if reason := undecided(subject):
        return Trusted(undecided=reason)
    if not maps:
        return Trusted()
    cells = next(iter(maps.values())).cells
    chance = random_curves(subject, cells, orders=2, steps=STEPS, progress=progress)
    heats = [on_patches(each) for each in maps.values()]
    found = curves(subject, heats, cells, len(chance.share) - 1, progress=progress)
    return Trusted(
        {
            name: (chance.deletion_area - each.deletion_area + each.insertion_area - chance.insertion_area) / 2
            for name, each in zip(maps, found, strict=True)
        }
    )
