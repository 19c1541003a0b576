"""Which maps are the most faithful, which fail, and which cannot be told from chance: rules on a trust table's rows.

Faithful: hiding the places that a map marks changes the model's answer more than hiding others does. Whether a map lies
on the object is another question, which a model may rightly answer with no.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from vizkit.analysis.trust.table import CHANCE, FAITHFUL, FIGURES, SAME, Row, Summary, signed

MARGIN = 0.05
"""Of one image, differences to chance up to this probability count as none: random orders differ by about as much."""
ERRORS = 2.0
"""Over several images, differences up to so many standard errors of their mean count as none: of a map to chance, and
of two maps."""
NAMED = 2
"""Of those that are even, or follow, so many are named."""
UNCHANGED = 0.8
"""Rank correlation with the map of shuffled weights from which a map does not depend on what was learned."""

Side = Literal["better", "chance", "worse"]


@dataclass(frozen=True)
class Verdict:
    """By titles of methods. `best`: the most faithful, and all that are not told apart from it, with their mean
    difference to chance over the figures `by`; empty where none is better than chance. `images`: how many it rests on.
    `fails`: reason → titles. `within`: so many standard errors as ERRORS of the first one's difference, None of a
    single image."""

    best: Mapping[str, float]
    by: tuple[str, ...]
    images: int
    fails: Mapping[str, tuple[str, ...]]
    within: float | None = None

    def said(self) -> str:
        """The winner, the rule, and what it does not allow to say."""
        where = "on this image" if self.images == 1 else f"over {self.images} images"
        if not self.best:
            return f"{where.capitalize()} no map is reliably better than a random order."
        winner, *others = self.best
        won = signed(self.best[winner]) + ("" if self.within is None else f" ± {self.within:.2f}")
        followed = [f"{title} ({signed(self.best[title])})" for title in others]
        rule = f"by the mean difference to chance in {_listed(self.by)}"
        text = f"{winner} wins {where}: {won} {rule}"
        if self.images == 1:
            even = tied(self.best, MARGIN)
            if len(even) > 1:
                text = f"{few(even)} are ahead {where}: {spread(self.best, even)} {rule}, no difference on one image"
            followed = followed[len(even) - 1 :]
            if followed:
                text += f", then {few(followed)}{'' if len(even) > 1 else '; one image gives no interval'}"
        elif followed:
            text += f"; not told apart from {_listed(followed)}, within two standard errors"
        failed = "; ".join(f"{_listed(titles)} ({reason})" for reason, titles in self.fails.items())
        return f"{text}. Fails: {failed}." if failed else f"{text}."


def tied(gains: Mapping[str, float], margin: float) -> list[str]:
    """The best, and those that one image does not tell from it."""
    most = max(gains.values())
    return [name for name in sorted(gains, key=lambda name: -gains[name]) if gains[name] >= most - margin]


def spread(gains: Mapping[str, float], even: Sequence[str]) -> str:
    """What the first and the last of these have."""
    ends = list(dict.fromkeys(signed(gains[name]) for name in (even[0], even[-1])))
    return (" and " if len(even) == 2 else " to ").join(ends) + (" each" if len(ends) == 1 else "")


def few(names: Sequence[str]) -> str:
    """The first of them by name, and how many more."""
    rest = len(names) - NAMED
    return _listed([*names[:NAMED], *([f"{rest} more"] if rest > 1 else names[NAMED:])])


def _listed(titles: Sequence[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"


def gain(name: str, summary: Summary | None) -> float | None:
    """The difference to chance, above zero where it is better; None where chance is not known."""
    larger = FIGURES[name].larger_is_better
    if summary is None or summary.above_chance is None or larger is None:
        return None
    return summary.above_chance if larger else -summary.above_chance


def side(name: str, summary: Summary | None) -> Side | None:
    """On which side of chance a figure is, beyond what varies by itself."""
    difference = gain(name, summary)
    if summary is None or difference is None:
        return None
    threshold = _threshold(summary)
    return "better" if difference > threshold else "worse" if difference < -threshold else "chance"


def _threshold(summary: Summary) -> float:
    return MARGIN if summary.error is None else max(SAME, ERRORS * summary.error)


def beyond_chance(row: Row) -> float | None:
    """The mean difference to chance over the figures of FAITHFUL that were measured, above zero where it is better."""
    gains = [difference for name in FAITHFUL if (difference := gain(name, row.figures.get(name))) is not None]
    return sum(gains) / len(gains) if gains else None


def _failure(row: Row) -> str:
    """Why a map is not to be believed; "" where it passes."""
    sides = {name: side(name, row.figures.get(name)) for name in FAITHFUL}
    worse = [FIGURES[name].title for name, where in sides.items() if where == "worse"]
    random = row.figures.get("randomisation")
    if worse:
        return f"worse than chance in {_listed(worse)}"
    if "better" not in sides.values():
        return "no better than chance"
    if random is not None and random.mean >= UNCHANGED:
        return "nearly the same with shuffled weights"
    return ""


def verdict(rows: Sequence[Row]) -> Verdict | None:
    """None where nothing is ranked, or no figure of FAITHFUL was measured."""
    measured = [row for row in rows if row.method != CHANCE and row.rank is not None and beyond_chance(row) is not None]
    if not measured:
        return None
    images = max(summary.images for row in measured for summary in row.figures.values())
    fails: dict[str, tuple[str, ...]] = {}
    passing: list[Row] = []
    for row in measured:
        if reason := _failure(row):
            fails[reason] = (*fails.get(reason, ()), row.title)
        else:
            passing.append(row)
    passing.sort(key=lambda row: -(beyond_chance(row) or 0.0))
    if not passing:
        return Verdict({}, (), images, fails)
    first = passing[0]
    by = tuple(FIGURES[name].title for name in FAITHFUL if gain(name, first.figures.get(name)) is not None)
    best = {row.title: beyond_chance(row) or 0.0 for row in passing if row is first or not _apart(first, row)}
    return Verdict(best, by, images, fails, None if first.error is None else ERRORS * first.error)


def _apart(first: Row, other: Row) -> bool:
    """Whether two maps differ by more than `ERRORS` standard errors of their differences, image by image."""
    gaps = [first.gains[image] - other.gains[image] for image in first.gains.keys() & other.gains.keys()]
    return len(gaps) > 1 and fmean(gaps) > max(SAME, ERRORS * stdev(gaps) / len(gaps) ** 0.5)


def marks(rows: Sequence[Row], name: str) -> dict[str, Literal["best", "fails"]]:
    """Of one figure: the methods with the best mean, unless it is no better than chance or that of most, and those that
    fail: not better than chance, or nearly unchanged by shuffled weights."""
    there = {row.method: row.figures[name] for row in rows if row.method != CHANCE and name in row.figures}
    larger = FIGURES[name].larger_is_better
    if name == "randomisation":
        return {method: "fails" for method, summary in there.items() if summary.mean >= UNCHANGED}
    if larger is None or not there:
        return {}
    best = max((summary.mean if larger else -summary.mean) for summary in there.values())
    marked: dict[str, Literal["best", "fails"]] = {}
    for method, summary in there.items():
        where = side(name, summary)
        if where in ("chance", "worse"):
            marked[method] = "fails"
        elif abs((summary.mean if larger else -summary.mean) - best) <= SAME:
            marked[method] = "best"
    distinct = 2 * sum(mark == "best" for mark in marked.values()) <= len(there)
    return {method: mark for method, mark in marked.items() if distinct or mark == "fails"}
