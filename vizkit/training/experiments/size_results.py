"""What the runs of `data_size` tell: accuracy by method and number of pictures, and what a teacher adds. No torch."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vizkit.analysis.comparison.seed_interval import Estimate, accuracy, difference
from vizkit.training.experiments.data_size import METHODS, name_of
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder

_NAME = re.compile(r"(.+)-\d+-seed\d+")
_METHOD_OF = {name_of(method, 1, 0).removesuffix("-1-seed0"): method for method in METHODS}


@dataclass(frozen=True)
class Outcome:
    """All seeds of one method on one number of pictures. `tests`: test accuracy by seed, 0 to 1, of `test_images`."""

    method: str
    images: int
    tests: Mapping[int, float]
    test_images: int

    @property
    def estimate(self) -> Estimate:
        return accuracy(self.tests, self.test_images)

    @property
    def words(self) -> str:
        """ "90.0 ± 1.3 %", half of the 95 % interval, and of one seed alone a star."""
        return f"{100 * self.estimate.mean:.1f} ± {100 * self.estimate.half:.1f} %{'' if len(self.tests) > 1 else ' *'}"

    def above(self, other: "Outcome") -> Estimate | None:
        """How much more than the other; None where they have no seed in common."""
        return difference(self.tests, other.tests, min(self.test_images, other.test_images))


@dataclass(frozen=True)
class Study:
    """Runs that differ in method, number of pictures and seed only, in the order of METHODS, then of pictures."""

    data: str
    data_seed: int
    side_px: int
    epochs: int
    runs: tuple[RunFolder, ...]
    outcomes: tuple[Outcome, ...] = field(default=())

    @property
    def shown(self) -> tuple[int, int]:
        """The least and the most pictures that a run is shown, repetitions counted."""
        recipes = [run.recipe for run in self.runs]
        shown = [recipe.images * recipe.passes * recipe.epochs for recipe in recipes]
        return min(shown), max(shown)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of finished runs."""
        return tuple(sorted({seed for outcome in self.outcomes for seed in outcome.tests}))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of pictures, of all runs."""
        return tuple(sorted({run.recipe.images for run in self.runs}))

    @property
    def test_images(self) -> int:
        return min(outcome.test_images for outcome in self.outcomes)

    @property
    def intervals(self) -> str:
        """What the intervals hold."""
        star = (
            "; * one seed, so the part of the test images alone"
            if any(len(outcome.tests) == 1 for outcome in self.outcomes)
            else ""
        )
        return f"95 % intervals over seeds and {self.test_images:,} test images{star}"

    def of(self, method: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.method == method]

    def at(self, method: str, images: int) -> Outcome | None:
        return next((outcome for outcome in self.of(method) if outcome.images == images), None)

    @property
    def control(self) -> str:
        """What a taught DeiT is compared with: the same network without a teacher, where it was trained, else the
        ViT."""
        return "DeiT alone" if self.of("DeiT alone") else "ViT"

    def gains(self, method: str) -> dict[int, Estimate]:
        """Number of pictures → how much more accurate a method is there than `control`, where both have a seed."""
        over = self.control
        gained = {
            outcome.images: outcome.above(other)
            for outcome in self.of(method)
            if (other := self.at(over, outcome.images))
        }
        return {images: gain for images, gain in gained.items() if gain is not None}


def method_of(run: RunFolder) -> str:
    """By the name of its folder; empty for a run that is not of the experiment."""
    match = _NAME.fullmatch(run.name)
    return _METHOD_OF.get(match[1], "") if match else ""


def studies(runs: Iterable[RunFolder]) -> list[Study]:
    """Runs of the plan, grouped by their data and length, in the order in which the first of each comes. Folders
    without a readable recipe, and those that have a name or a model which the plan does not know, are left out."""
    order = list(METHODS)
    groups: dict[tuple[str, int, int, int], list[tuple[int, int, int, RunFolder]]] = {}
    for run in runs:
        try:
            recipe = run.recipe
        except RecipeError:
            continue
        method = method_of(run)
        if method and recipe.images and recipe.model == METHODS[method].recipe.model:
            setting = (recipe.data, recipe.data_seed, recipe.image_size, recipe.epochs)
            groups.setdefault(setting, []).append((order.index(method), recipe.images, recipe.seed, run))
    result = []
    for setting, members in groups.items():
        members.sort(key=lambda member: member[:3])
        inside = tuple(run for *_, run in members)
        result.append(Study(*setting, inside, tuple(outcomes(inside))))
    return result


def outcomes(runs: Iterable[RunFolder]) -> list[Outcome]:
    """One for each method and number of pictures that a finished run knows, in the order in which they come."""
    tests: dict[tuple[str, int], dict[int, float]] = {}
    images: dict[tuple[str, int], int] = {}
    for run in runs:
        recipe, result = run.recipe, run.read("result.json")
        if {"test_accuracy", "test_images"} <= set(result):
            key = (method_of(run), recipe.images)
            tests.setdefault(key, {})[recipe.seed] = result["test_accuracy"]
            images[key] = min(images.get(key, result["test_images"]), result["test_images"])
    return [Outcome(*key, by_seed, images[key]) for key, by_seed in tests.items()]


def seconds_of(runs: Sequence[RunFolder], method: str) -> float | None:
    """How long a run of this method took, by the first of `runs` that came to its end; all sizes take about as long."""
    for run in runs:
        lines = run.metrics()
        if method_of(run) == method and len(lines) == run.recipe.epochs:
            return sum(line["seconds"] for line in lines)
    return None
