"""Methods ranked by what was measured on many images, with what each figure cannot tell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from vizkit.analysis.methods import METHODS
from vizkit.analysis.trust import Score

CHANCE = "chance"


@dataclass(frozen=True)
class Figure:
    """One number of a score: its title, whether larger is better (None: neither), and a sentence on its limits."""

    title: str
    larger_is_better: bool | None
    caveat: str


FIGURES: dict[str, Figure] = {
    "pointing": Figure(
        "pointing",
        True,
        "Whether the hottest point is on the insect; one point of a whole map, and a model may decide elsewhere.",
    ),
    "on_thing": Figure(
        "mass on the insect",
        True,
        "Share of the positive mass; a coarse map cannot follow a thin shape, and an even ground under it lowers it.",
    ),
    "on_deciding": Figure(
        "mass on the deciding parts",
        True,
        "The parts that differ between the classes are small; a model may tell its class by others too.",
    ),
    "deletion": Figure(
        "deletion",
        False,
        "Area under the class's probability while the hottest places are taken away; holes are strange pictures too.",
    ),
    "insertion": Figure(
        "insertion",
        True,
        "Area under the class's probability while the hottest places are put back; it favours compact maps.",
    ),
    "road": Figure(
        "ROAD",
        True,
        "Probability when the coldest places are removed less that when the hottest are; large holes become smooth.",
    ),
    "randomisation": Figure(
        "rank correlation with random weights",
        None,
        "Near 0 the map depends on what was learned, near 1 it does not; noise passes this check too.",
    ),
    "infidelity": Figure(
        "infidelity",
        False,
        "How badly sums of the map foretell the fall of the logit, 0 to 1; it assumes that effects add up.",
    ),
    "sensitivity": Figure(
        "sensitivity",
        False,
        "Largest change of the map under invisible noise; a constant map would be perfect.",
    ),
}


@dataclass(frozen=True)
class Summary:
    """One figure over images: mean, standard deviation over them (0 for a single one), and how many images have it."""

    mean: float
    spread: float
    images: int


@dataclass(frozen=True)
class Row:
    """One method over many images, its figures by their names in `FIGURES`.

    `rank`: the mean of its places among the methods, 1 is best, over the figures that have a better side; None for the
    row of chance. `nothing`: images on which the method found nothing.
    """

    method: str
    title: str
    figures: Mapping[str, Summary]
    rank: float | None
    nothing: int = 0


def table(scores: Iterable[Sequence[Score]]) -> list[Row]:
    """The rows of a `Tally` of these scores."""
    tally = Tally()
    for several in scores:
        tally.add(several)
    return tally.rows()


class Tally:
    """The figures of many images, without their curves: many small tensors would keep the heap from shrinking."""

    def __init__(self) -> None:
        self.images = 0
        self._found: dict[str, list[dict[str, float]]] = {}
        self._chance: dict[str, list[dict[str, float]]] = {}

    def add(self, scores: Iterable[Score]) -> None:
        """All methods on one image."""
        self.images += 1
        for one in scores:
            self._found.setdefault(one.method, []).append(one.figures())
            self._chance.setdefault(one.method, []).append(by_chance(one))

    def rows(self) -> list[Row]:
        """One row for each method, best mean rank first, and a last one for chance.

        Chance: random orders for deletion and insertion; for the masses their share of the pixels, which an even map
        gets; nothing for the other figures. The rank weighs all figures alike, which is a choice: look at the figures.
        """
        summed = {name: summaries(found) for name, found in self._found.items()}
        places = ranks(summed)
        rows = [
            Row(name, METHODS[name].title, summed[name], places.get(name), sum(not one for one in found))
            for name, found in self._found.items()
        ]
        rows.sort(key=lambda row: (row.rank is None, row.rank))
        # Chance is a matter of the image: the method that was scored on most of them has most of it.
        fullest = max(self._chance.values(), key=lambda found: sum(map(bool, found)), default=[])
        chance = summaries(fullest)
        return [*rows, Row(CHANCE, "Chance", chance, None)] if chance else rows


def by_chance(one: Score) -> dict[str, float]:
    found = {
        "on_thing": one.placed and one.placed.thing_share,
        "on_deciding": one.placed and one.placed.deciding_share,
        "deletion": one.chance and one.chance.deletion_area,
        "insertion": one.chance and one.chance.insertion_area,
    }
    return {name: value for name, value in found.items() if value is not None}


def summaries(found: Sequence[Mapping[str, float]]) -> dict[str, Summary]:
    result = {}
    for name in FIGURES:
        values = torch.tensor([one[name] for one in found if name in one], dtype=torch.float64)
        if len(values):
            spread = float(values.std()) if len(values) > 1 else 0.0
            result[name] = Summary(float(values.mean()), spread, len(values))
    return result


def ranks(rows: Mapping[str, Mapping[str, Summary]]) -> dict[str, float]:
    """The mean place of each method; methods with equal means share a place, one without a figure is left out there."""
    places: dict[str, list[float]] = {}
    for name, figure in FIGURES.items():
        if figure.larger_is_better is None:
            continue
        sign = -1 if figure.larger_is_better else 1
        values = {method: sign * found[name].mean for method, found in rows.items() if name in found}
        for method, value in values.items():
            better = sum(other < value for other in values.values())
            equal = sum(other == value for other in values.values())
            places.setdefault(method, []).append(better + (equal + 1) / 2)
    return {method: sum(each) / len(each) for method, each in places.items()}
