"""Is it worth cutting the image twice, or dropping tokens on the way? Five models that are equal in all else.

A plain ViT of coarse patches and one of fine ones, the dual-scale ViT with α fixed and learned, and gradual reduction:
width, depth, heads, data, epochs, optimiser are the same. No torch here: the page reads run folders before it is there.
"""

import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder

VARIANTS = {  # the end of a model's name in `architectures.OURS`
    "vit_coarse": "plain ViT, coarse patches",
    "vit_fine": "plain ViT, fine patches",
    "dual_half": "dual-scale, α = ½",
    "dual": "dual-scale, α learned",
    "gradual": "gradual reduction",
}


@dataclass(frozen=True)
class Size:
    """One data set with five models of one size. `patches_px`: coarse and fine; `recipe`: all but model and seed."""

    name: str
    prefix: str
    side_px: int
    patches_px: tuple[int, int]
    classes: int
    recipe: Recipe

    def model(self, variant: str) -> str:
        return f"{self.prefix}_{variant}"

    @property
    def title(self) -> str:
        coarse, fine = self.patches_px
        return f"{self.name}, {self.side_px}² pixels, patches of {coarse} and {fine}"


_BEGIN = Recipe(optimizer="muon", lr=4e-3, turn_deg=15.0)
SIZES = {
    "digits": Size(
        "digits",
        "digits",
        32,
        (8, 4),
        10,
        _BEGIN.but({"data": "digits", "flip": 0.0, "square_px": 4, "batch": 32, "warmup_epochs": 1.0, "epochs": 20}),
    ),
    "insects": Size(
        "insects",
        "small",
        64,
        (16, 8),
        12,
        _BEGIN.but({"data": "insects", "image_size": 64, "warmup_epochs": 0.5, "epochs": 4}),
    ),
}


def plan(size: Size, seeds: Iterable[int]) -> dict[str, Recipe]:
    """A run's name and its recipe, seed by seed, so that the first table is whole as early as possible."""
    return {
        f"{size.model(variant)}-{seed}": size.recipe.but({"model": size.model(variant), "seed": seed})
        for seed in seeds
        for variant in VARIANTS
    }


@dataclass(frozen=True)
class Worth:
    """One variant's finished runs, by seed. Accuracies are shares of the test images, 0 to 1."""

    variant: str
    runs: tuple[RunFolder, ...]

    @property
    def words(self) -> str:
        return VARIANTS[self.variant]

    @property
    def tests(self) -> list[float]:
        return [run.read("result.json")["test_accuracy"] for run in self.runs]

    @property
    def mean(self) -> float:
        return statistics.mean(self.tests)

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation over the seeds; None for one."""
        return statistics.stdev(self.tests) if len(self.runs) > 1 else None

    @property
    def minutes(self) -> list[float]:
        return [sum(epoch["seconds"] for epoch in run.metrics()) / 60 for run in self.runs]

    def validation(self) -> dict[int, list[float]]:
        """Epoch, from 1 → validation accuracy of every run that came so far."""
        accuracies: dict[int, list[float]] = {}
        for run in self.runs:
            for line in run.metrics():
                accuracies.setdefault(line["epoch"], []).append(line["val_accuracy"])
        return accuracies


def worths(size: Size, folders: Iterable[RunFolder]) -> list[Worth]:
    """The variants that have finished runs, in the order of VARIANTS.

    Raises RecipeError, naming the fields, where the runs differ in more than model and seed: that would be no
    comparison.
    """
    finished: dict[str, list[tuple[int, RunFolder]]] = {variant: [] for variant in VARIANTS}
    of = {size.model(variant): variant for variant in VARIANTS}
    shared: dict[str, object] = {}
    for run in folders:
        if not run.read("result.json"):
            continue
        recipe = run.recipe
        if recipe.model not in of or recipe.data != size.recipe.data:
            continue
        rest = {name: value for name, value in asdict(recipe).items() if name not in ("model", "seed")}
        shared = shared or rest
        if rest != shared:
            differ = ", ".join(name for name in rest if rest[name] != shared[name])
            raise RecipeError(f"{run.name} is no fair comparison: its {differ} differ from those of other runs.")
        finished[of[recipe.model]].append((recipe.seed, run))
    return [
        Worth(variant, tuple(run for _, run in sorted(pairs, key=lambda pair: pair[0])))
        for variant, pairs in finished.items()
        if pairs
    ]
