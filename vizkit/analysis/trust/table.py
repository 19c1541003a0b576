"""Methods ranked by what was measured on many images, with what each figure cannot tell."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev

import torch

from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.trust.scores import Score
from vizkit.analysis.trust.truth_score import TOLERANCE

CHANCE = "chance"
Measured = tuple[Mapping[str, float], Mapping[str, float]]
Figures = dict[str, dict[int, Measured]]
"""Method → for each image, by its number from 1, its figures and those of chance."""


@dataclass(frozen=True)
class Figure:
    """One number of a score: its title, whether larger is better (None: neither), and a sentence on its limits.

    `ranked`: whether it counts for the places of the methods.
    """

    title: str
    larger_is_better: bool | None
    caveat: str
    ranked: bool = True


SAME = 5e-4
"""Figures are shown to three digits; what differs by less is not ranked."""
PERCENT = f"{TOLERANCE * 100:.0f} %"
FIGURES: dict[str, Figure] = {
    "pointing": Figure(
        f"pointing within {PERCENT}",
        True,
        f"Whether the hottest point is on the insect or, in a square, within {PERCENT} of the longer side of it; "
        "one point of a whole map, and a model may decide elsewhere.",
    ),
    "pointing_strict": Figure(
        "pointing exactly",
        True,
        "The same without tolerance; not counted again for the places of the methods.",
        ranked=False,
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
        "Area under the class's probability while the hottest places are taken away; holes are strange images too.",
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
FAITHFUL = ("deletion", "insertion", "road")
"""Figures that say whether hiding what a map marks changes the answer."""


@dataclass(frozen=True)
class Summary:
    """One figure over images: mean, standard deviation over them (0 for a single one), and how many images have it.

    `chance`: the mean, over the same images, of what a random map gets; None where that is not known. `error`: the
    standard error of the mean difference to it; None for a single image.
    """

    mean: float
    spread: float
    images: int
    chance: float | None = None
    error: float | None = None

    @property
    def above_chance(self) -> float | None:
        """The mean less that of chance; below zero is better where smaller is better."""
        return None if self.chance is None else self.mean - self.chance


@dataclass(frozen=True)
class Row:
    """One method over many images, its figures by their names in `FIGURES`.

    `rank`: the mean of its places among the methods, 1 is best, over the figures that count for it; None for the row of
    chance, and where nothing is ranked. `nothing`: images on which the method gives no map. `gains`: of each image, by
    its number, the mean difference to chance over the figures of FAITHFUL, above zero where it is better.
    """

    method: str
    title: str
    figures: Mapping[str, Summary]
    rank: float | None
    nothing: int = 0
    gains: Mapping[int, float] = field(default_factory=dict)

    @property
    def error(self) -> float | None:
        """The standard error of the mean gain; None of a single image."""
        gains = [*self.gains.values()]
        return stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else None


def signed(difference: float, digits: int = 2) -> str:
    """A difference to chance in words: +0.12, −0.30, 0.00."""
    rounded = round(difference, digits)
    return f"{abs(rounded):.{digits}f}" if not rounded else f"{rounded:+.{digits}f}".replace("-", "−")


def table(scores: Iterable[Sequence[Score]]) -> list[Row]:
    """The rows of a `Tally` of these scores."""
    tally = Tally()
    for several in scores:
        tally.add(several)
    return tally.rows()


class Tally:
    """The figures of many images, without their curves: many small tensors would keep the heap from shrinking.

    Images where nothing can be ranked (`scores.undecided`) are left out, unless there are no others: then their figures
    are shown and no method is ranked.
    """

    def __init__(self) -> None:
        self.images = 0
        self.left_out: Counter[str] = Counter()
        self._ranked: Figures = {}
        self._unranked: Figures = {}

    def add(self, scores: Sequence[Score]) -> None:
        """All methods on one image."""
        reason = next((one.undecided for one in scores if one.undecided), "")
        self.add_figures({one.method: (one.figures(), one.by_chance()) for one in scores}, reason)

    def add_figures(self, by_method: Mapping[str, Measured], reason: str = "") -> None:
        """Of one image the figures and those of chance; `reason`: why nothing can be ranked on it."""
        self.images += 1
        if reason:
            self.left_out[reason] += 1
        for method, figures in by_method.items():
            (self._unranked if reason else self._ranked).setdefault(method, {})[self.images] = figures

    def said(self) -> str:
        """What was left out and why, in sentences; "" if nothing was."""
        if not self._ranked and self.images == 1:
            return "".join(f"No map is ranked here: {reason}." for reason in self.left_out)
        what = "are left out" if self._ranked else "cannot rank maps"
        return " ".join(f"{count} of {self.images} images {what}: {why}." for why, count in self.left_out.items())

    def rows(self) -> list[Row]:
        """One row for each method, best mean rank first, and a last one for chance.

        Chance: a random order for deletion and insertion; for pointing, a point put anywhere; for the masses, an even
        map; for ROAD nothing, its two orders being one. The rank weighs all figures alike, which is a choice: look at
        the figures.
        """
        figures = self._ranked or self._unranked
        summed = {name: _summaries([*each.values()]) for name, each in figures.items()}
        places = _ranks(summed) if self._ranked else {}
        rows = [
            Row(name, METHODS[name].title, summed[name], places.get(name), _nothing(each), _gains(each))
            for name, each in figures.items()
        ]
        rows.sort(key=lambda row: (row.rank is None, row.rank or 0))
        # Chance is a matter of the image: the method that was scored on most of them has most of it.
        counts = [(sum(bool(by_chance) for _, by_chance in each.values()), each) for each in figures.values()]
        _, fullest = max(counts, key=lambda pair: pair[0], default=(0, {}))
        chance = _summaries([(by_chance, {}) for _, by_chance in fullest.values()])
        return [*rows, Row(CHANCE, "Chance", chance, None)] if chance else rows


def _nothing(each: Mapping[int, Measured]) -> int:
    return sum(not measured for measured, _ in each.values())


def _gains(each: Mapping[int, Measured]) -> dict[int, float]:
    gains = {image: _gain(*figures) for image, figures in each.items()}
    return {image: found for image, found in gains.items() if found is not None}


def gain_of(score: Score) -> float | None:
    """How much better than chance one map is on one image: the mean difference over the figures of FAITHFUL that were
    measured, −1 to 1; None where there is none."""
    return _gain(score.figures(), score.by_chance())


def _gain(measured: Mapping[str, float], by_chance: Mapping[str, float]) -> float | None:
    names = [name for name in FAITHFUL if name in measured and name in by_chance]
    signs = [1 if FIGURES[name].larger_is_better else -1 for name in names]
    known = [(measured[name] - by_chance[name]) * sign for name, sign in zip(names, signs, strict=True)]
    return sum(known) / len(known) if known else None


def _summaries(figures: Sequence[Measured]) -> dict[str, Summary]:
    """Over images, from each image's figures and those of chance."""
    result = {}
    for name in FIGURES:
        there = [(measured[name], by_chance.get(name)) for measured, by_chance in figures if name in measured]
        values = torch.tensor([value for value, _ in there], dtype=torch.float64)
        expected = [value for _, value in there if value is not None]
        if there:
            spread = float(values.std()) if len(values) > 1 else 0.0
            chance, error = None, None
            if len(expected) == len(there):
                chance = sum(expected) / len(expected)
                differences = values - torch.tensor(expected, dtype=torch.float64)
                error = float(differences.std()) / len(values) ** 0.5 if len(values) > 1 else None
            result[name] = Summary(float(values.mean()), spread, len(values), chance, error)
    return result


def _ranks(rows: Mapping[str, Mapping[str, Summary]]) -> dict[str, float]:
    """The mean place of each method; methods with equal means share a place, one without a figure is left out there.

    Means that differ by less than `SAME` are equal: one map, computed in two ways, is not better than itself.
    """
    places: dict[str, list[float]] = {}
    for name, figure in FIGURES.items():
        if figure.larger_is_better is None or not figure.ranked:
            continue
        sign = -1 if figure.larger_is_better else 1
        values = {method: sign * row[name].mean for method, row in rows.items() if name in row}
        for method, value in values.items():
            better = sum(other < value - SAME for other in values.values())
            equal = sum(abs(other - value) <= SAME for other in values.values())
            places.setdefault(method, []).append(better + (equal + 1) / 2)
    return {method: sum(each) / len(each) for method, each in places.items()}
