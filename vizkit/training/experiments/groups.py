"""Does a teacher help? Runs of one student that differ only in what they learn from, laid side by side.

No torch here: the page reads run folders before it is loaded.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from vizkit.figure.training.learning_curves import Curve
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder

TEACHING = ("teacher", "distillation", "temperature", "teacher_share")
NO_TEACHER = "no teacher"
ORDER = ("none", "soft", "hard")

# So few digits that a teacher, who has seen ten times as many, has something to tell; Mixup shows it pictures on which
# labels are at a loss. Three such runs take about three minutes on an idle machine of two cores.
DIGITS = Recipe(
    data="digits",
    model="digits_vit",
    images=100,
    repeats=4,
    epochs=20,
    batch=32,
    optimizer="muon",
    lr=4e-3,
    warmup_epochs=2.0,
    turn_deg=15.0,
    square_px=4,
    flip=0.0,
    mixup=0.8,
)
TEACHER = "bundled:digits_cnn"
TEACHINGS: dict[str, dict[str, Any]] = {
    "none": {},
    "soft": {"teacher": TEACHER, "distillation": "soft", "temperature": 2.0, "teacher_share": 0.9},
    "hard": {"teacher": TEACHER, "distillation": "hard", "teacher_share": 0.5},
}

PUBLISHED = (  # Touvron et al. 2021, table 3: top-1 on ImageNet at 224², percent
    ("no teacher", 72.2, 79.8, 81.8),
    ("soft, class token only", 72.2, 79.8, 81.8),
    ("hard, class token only", 74.3, 80.9, 83.0),
    ("hard, read from the class token", 73.9, 80.9, 83.0),
    ("hard, read from the distillation token", 74.6, 81.1, 83.1),
    ("hard, both averaged", 74.5, 81.2, 83.4),
)


def plan(seed: int = 0) -> dict[str, Recipe]:
    """The experiment on digits: a run's name and its recipe, in the order in which they are trained."""
    suffix = f"-seed{seed}" if seed else ""
    return {f"digits-{kind}{suffix}": DIGITS.but({**how, "seed": seed}) for kind, how in TEACHINGS.items()}


@dataclass(frozen=True)
class Experiment:
    """`student`: what all runs have in common, without a teacher and at seed 0. `runs`: no teacher first."""

    student: Recipe
    runs: tuple[RunFolder, ...]


def experiments(runs: Iterable[RunFolder], unfinished: Recipe | None = None) -> list[Experiment]:
    """Groups of runs whose recipes differ in the teacher (and perhaps the seed) only; at least two kinds of teaching.

    In the order in which their first run comes. Folders without a recipe are left out. `unfinished`: a student of which
    one kind is enough, because others are to come.
    """
    groups: dict[str, list[tuple[RunFolder, Recipe]]] = {}
    for run in runs:
        try:
            recipe = run.recipe
        except RecipeError:
            continue
        groups.setdefault(student_of(recipe).to_json(), []).append((run, recipe))
    result = []
    for alike in groups.values():
        student = student_of(alike[0][1])
        if student == unfinished or len({taught_by(recipe) for _, recipe in alike}) > 1:
            alike.sort(key=lambda pair: (ORDER.index(pair[1].distillation), taught_by(pair[1]), pair[1].seed))
            result.append(Experiment(student, tuple(run for run, _ in alike)))
    return result


def student_of(recipe: Recipe) -> Recipe:
    usual = Recipe()
    return recipe.but({name: getattr(usual, name) for name in (*TEACHING, "seed")})


def taught_by(recipe: Recipe) -> str:
    """ "no teacher", "soft, T = 3, λ = 0.7" or "hard, λ = 0.5"; the teacher's name stands elsewhere."""
    if recipe.distillation == "none":
        return NO_TEACHER
    temperature = f", T = {recipe.temperature:g}" if recipe.distillation == "soft" else ""
    return f"{recipe.distillation}{temperature}, λ = {recipe.teacher_share:g}"


def name_of(teacher: str) -> str:
    """Without the folder that a run of one's own lies in."""
    return teacher.replace("\\", "/").rstrip("/").rpartition("/")[2].removeprefix("bundled:")


def curves(experiment: Experiment, what: str) -> list[Curve]:
    """One curve for each teaching that has finished an epoch; `what`: "val_accuracy", "val_loss" …"""
    lines = []
    for (taught, teacher), runs in _by_teaching(experiment).items():
        values: dict[int, list[float]] = {}
        for run in runs:
            for line in run.metrics():
                values.setdefault(line["epoch"], []).append(line[what])
        at = tuple(sorted(values))
        if at:
            twin = any(taught == curve.name for curve in lines)
            name = f"{taught}, {name_of(teacher)}" if twin else taught
            means = tuple(sum(values[epoch]) / len(values[epoch]) for epoch in at)
            lows, highs = (tuple(end(values[epoch]) for epoch in at) for end in (min, max))
            lines.append(Curve(name, at, means, lows, highs))
    return lines


@dataclass(frozen=True)
class Outcome:
    """All runs of one teaching. Shares of images, 0 to 1; None while no run is that far.

    `tests`: test accuracy by seed, `test` their mean. `gain`: above that without a teacher; `gain_error`: its standard
    error if both were independent samples of the test images, which is on the safe side, for the runs share them.
    `above`: with how many seeds of `pairs` the taught student was better than the one of the same seed alone.
    """

    taught: str
    teacher: str
    runs: int
    best_val: float | None
    tests: dict[int, float]
    images: int
    gain: float | None = None
    gain_error: float | None = None
    above: int = 0
    pairs: int = 0

    @property
    def test(self) -> float | None:
        return sum(self.tests.values()) / len(self.tests) if self.tests else None


def _by_teaching(experiment: Experiment) -> dict[tuple[str, str], list[RunFolder]]:
    """(how it was taught, by whom) → its runs, in the order of the experiment."""
    groups: dict[tuple[str, str], list[RunFolder]] = {}
    for run in experiment.runs:
        recipe = run.recipe
        groups.setdefault((taught_by(recipe), recipe.teacher), []).append(run)
    return groups


def outcomes(experiment: Experiment) -> list[Outcome]:
    """One line for each teaching and teacher, no teacher first."""
    lines = [outcome(taught, teacher, runs) for (taught, teacher), runs in _by_teaching(experiment).items()]
    alone = next((line for line in lines if line.taught == NO_TEACHER), None)
    return [line if alone is None or line is alone else compared(line, alone) for line in lines]


def outcome(taught: str, teacher: str, runs: list[RunFolder]) -> Outcome:
    results = {run.recipe.seed: result for run in runs if "test_accuracy" in (result := run.read("result.json"))}
    tests = {seed: result["test_accuracy"] for seed, result in results.items()}
    vals = [max(line["val_accuracy"] for line in lines) for run in runs if (lines := run.metrics())]
    images = min((result["test_images"] for result in results.values()), default=0)
    return Outcome(taught, teacher, len(runs), sum(vals) / len(vals) if vals else None, tests, images)


def compared(line: Outcome, alone: Outcome) -> Outcome:
    if line.test is None or alone.test is None:
        return line
    variance = sum(
        share * (1 - share) / images for share, images in ((line.test, line.images), (alone.test, alone.images))
    )
    pairs = [(line.tests[seed], alone.tests[seed]) for seed in line.tests if seed in alone.tests]
    return replace(
        line,
        gain=line.test - alone.test,
        gain_error=math.sqrt(variance),
        above=sum(taught > untaught for taught, untaught in pairs),
        pairs=len(pairs),
    )
