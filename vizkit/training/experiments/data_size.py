"""How much does each architecture learn from how few pictures? The runs of one experiment, and their results.

A CNN, a ViT, a DeiT and a Swin learn from 1, 5, 20 and 100 % of the same drawn insects. Every run sees the same number
of pictures (the small sets more often), with the same turns, shifts and flips; only the optimiser is each family's own,
and that the two plain transformers learn from half of the patches in each step, which spares half of their time.
A DeiT's teacher is the CNN that learned from the same few pictures: it knows no label that its student does not see.
No torch here: the page reads run folders before it is loaded.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vizkit.figure.training.learning_curves import Curve
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder

IMAGES = (60, 300, 1_200, 6_000)  # 1, 5, 20, 100 %
SHARES_PERCENT = (1, 5, 20, 100)
SHOWN_PER_EPOCH, EPOCHS = 6_000, 6
INPUT_SIDE_PX = 64  # 8×8 patches: sixteen runs take about an hour of one core
_BEGIN = Recipe(data="insects", image_size=INPUT_SIDE_PX, epochs=EPOCHS, turn_deg=15.0, warmup_epochs=0.5)
_MUON = _BEGIN.but({"optimizer": "muon", "lr": 5e-3})
MODELS = {  # in the order of training: a DeiT needs the CNN first
    "CNN": _BEGIN.but({"model": "small_cnn", "lr": 3e-3}),
    "ViT": _MUON.but({"model": "small_vit", "patch_drop": 0.5}),
    "DeiT": _MUON.but({"model": "small_deit", "patch_drop": 0.5}),
    "Swin": _MUON.but({"model": "small_swin", "model_args": {"window_size": 4}}),
}
_DIGITS = {"data": "digits", "image_size": 0, "flip": 0.0, "square_px": 4, "model_args": {}}
FAMILY_OF = {f"{size}_{family.lower()}": family for size in ("small", "digits") for family in MODELS}


def plan(folder: str, seed: int = 0, data: str = "insects", images: int = IMAGES[-1]) -> dict[str, Recipe]:
    """A run's name and its recipe, in the order in which they can be trained. `folder`: where the runs will lie.

    `data`: another set; `images`: how many pictures it has to learn from, of which at most 6,000 are used. Every run
    sees as many pictures as whole passes over its share allow: the same number of insects, digits within 2 %.
    """
    whole = min(images, IMAGES[-1])
    epochs = max(EPOCHS, round(EPOCHS * SHOWN_PER_EPOCH / whole))
    runs = {}
    for count in sizes(whole):
        for family, recipe in MODELS.items():
            changes = {"data": data, "images": count, "passes": whole // count, "epochs": epochs, "seed": seed}
            if data == "digits":
                changes |= _DIGITS | {"model": recipe.model.replace("small", "digits")}
            if family == "DeiT":
                changes |= {"teacher": f"{folder}/{name_of('CNN', count, seed)}", "distillation": "hard"}
            runs[name_of(family, count, seed)] = recipe.but(changes)
    return runs


def sizes(images: int) -> tuple[int, ...]:
    """1, 5, 20 and 100 % of so many pictures, each once. RecipeError where 1 % is no picture."""
    if images < 100 // SHARES_PERCENT[0]:
        raise RecipeError(f"There are {images:,} pictures to learn from; the experiment needs 100 at least.")
    return tuple(dict.fromkeys(images * share // 100 for share in SHARES_PERCENT))


def name_of(family: str, images: int, seed: int) -> str:
    return f"{family.lower()}-{images}-seed{seed}"


def folder_of(data: str) -> str:
    """The folder for the runs of a set, inside the folder of runs."""
    if data == "insects":
        return "data_size"
    last = data.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".zip")
    return "data_size-" + "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in last)[:60]


def another(run: RunFolder, recipe: Recipe) -> bool:
    """Whether the folder holds a run of another recipe than this one."""
    return (run.path / "recipe.json").is_file() and run.recipe != recipe


# ---- results of the runs ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Outcome:
    """All seeds of one family on one number of pictures. `tests`: test accuracy by seed, 0 to 1, of `test_images`."""

    family: str
    images: int
    tests: Mapping[int, float]
    test_images: int

    @property
    def mean(self) -> float:
        return sum(self.tests.values()) / len(self.tests)

    @property
    def error(self) -> float:
        """The standard error of a share of so many test pictures; another seed may differ by more."""
        return math.sqrt(self.mean * (1 - self.mean) / self.test_images)


@dataclass(frozen=True)
class Study:
    """Runs that differ in family, number of pictures and seed only, in the order of MODELS, then of pictures."""

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

    def at(self, family: str, images: int) -> Outcome | None:
        fitting = (outcome for outcome in self.outcomes if (outcome.family, outcome.images) == (family, images))
        return next(fitting, None)


def studies(runs: Iterable[RunFolder]) -> list[Study]:
    """Runs of the plan, grouped by their data and length, in the order in which the first of each comes. Folders
    without a readable recipe and models that are none of the four are left out."""
    groups: dict[tuple[str, int, int, int], list[tuple[int, int, int, RunFolder]]] = {}
    for run in runs:
        try:
            recipe = run.recipe
        except RecipeError:
            continue
        if recipe.model in FAMILY_OF and recipe.images:
            family = list(MODELS).index(FAMILY_OF[recipe.model])
            setting = (recipe.data, recipe.data_seed, recipe.image_size, recipe.epochs)
            groups.setdefault(setting, []).append((family, recipe.images, recipe.seed, run))
    result = []
    for setting, members in groups.items():
        members.sort(key=lambda member: member[:3])
        inside = tuple(run for *_, run in members)
        result.append(Study(*setting, inside, tuple(outcomes(inside))))
    return result


def outcomes(runs: Iterable[RunFolder]) -> list[Outcome]:
    """One for each family and number of pictures that a finished run knows, in the order in which they come."""
    tests: dict[tuple[str, int], dict[int, float]] = {}
    images: dict[tuple[str, int], int] = {}
    for run in runs:
        recipe, result = run.recipe, run.read("result.json")
        if {"test_accuracy", "test_images"} <= set(result):
            key = (FAMILY_OF[recipe.model], recipe.images)
            tests.setdefault(key, {})[recipe.seed] = result["test_accuracy"]
            images[key] = min(images.get(key, result["test_images"]), result["test_images"])
    return [Outcome(*key, by_seed, images[key]) for key, by_seed in tests.items()]


@dataclass(frozen=True)
class Lead:
    """The best family at one number of pictures and the next one; `gain` between them, 0 to 1, with the standard error
    of a difference of two independent shares, which is on the safe side, for the runs share their test pictures."""

    images: int
    best: Outcome
    second: Outcome

    @property
    def gain(self) -> float:
        return self.best.mean - self.second.mean

    @property
    def error(self) -> float:
        return math.hypot(self.best.error, self.second.error)

    @property
    def significant(self) -> bool:
        """By more than two standard errors."""
        return self.gain > 2 * self.error


def lead(study: Study, images: int) -> Lead | None:
    """None where fewer than two families have learned from so many pictures."""
    outcomes = [outcome for outcome in study.outcomes if outcome.images == images]
    ranked = sorted(outcomes, key=lambda outcome: -outcome.mean)
    return Lead(images, ranked[0], ranked[1]) if len(ranked) > 1 else None


def needed(study: Study, family: str, accuracy: float) -> int | None:
    """The smallest number of pictures of the experiment from which a family reached an accuracy, None if from none."""
    enough = [outcome.images for outcome in study.outcomes if outcome.family == family and outcome.mean >= accuracy]
    return min(enough, default=None)


def curves(study: Study, images: int, what: str) -> list[Curve]:
    """One curve for each family that has finished an epoch on so many pictures: mean, lowest and highest of its seeds.
    `what`: "val_accuracy", "train_loss" …"""
    lines = []
    for family in MODELS:
        values: dict[int, list[float]] = {}
        for run in study.runs:
            if (FAMILY_OF[run.recipe.model], run.recipe.images) == (family, images):
                for line in run.metrics():
                    values.setdefault(line["epoch"], []).append(line[what])
        at = tuple(sorted(values))
        if at:
            means = tuple(sum(values[epoch]) / len(values[epoch]) for epoch in at)
            lows, highs = (tuple(end(values[epoch]) for epoch in at) for end in (min, max))
            lines.append(Curve(family, at, means, lows, highs))
    return lines


def seconds_of(runs: Sequence[RunFolder], family: str) -> float | None:
    """How long a run of this family took, by the first of `runs` that came to its end; all sizes take about as long."""
    for run in runs:
        recipe, lines = run.recipe, run.metrics()
        if FAMILY_OF.get(recipe.model) == family and len(lines) == recipe.epochs:
            return sum(line["seconds"] for line in lines)
    return None
