"""Data size: test accuracy against the number of training pictures, for an MLP, a CNN, a Swin, a ViT and DeiTs with
several teachers."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.opening import open_set
from vizkit.figure.evaluation.data_size import Line as Drawn
from vizkit.figure.evaluation.data_size import data_size, in_same_colours
from vizkit.figure.training.learning_curves import learning_curves
from vizkit.percent import in_percent
from vizkit.training.experiments.data_size import METHODS
from vizkit.training.experiments.size_findings import UNTAUGHT, findings
from vizkit.training.experiments.size_results import Outcome, Study, curves, method_of, studies
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.views import bundled
from vizkit.views.blocks import Block, Chart, Folded, Line, Numbers, Process, Said, Table, side_by_side
from vizkit.views.controls import choice
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

SHIPPED = bundled.FOLDER / "experiments" / "data_size"
NONE = "none yet"
DASHES = {"soft": "dot", "hard": "dash"}


def offered() -> dict[str, Study]:
    """Shipped runs first; one's own of the same setting may lie over them, seed beside seed."""
    shipped = [RunFolder(file.parent) for file in sorted(SHIPPED.glob("*/recipe.json"))]
    own = [run for folder in sorted(runs_root().glob("data_size*")) for run in runs(folder)]
    groups = {f"{called(study)} · shipped": study for study in studies(shipped) if study.outcomes}
    for study in (study for study in studies(own) if study.outcomes):
        groups[f"{called(study)} · yours"] = study
        twin = groups.get(f"{called(study)} · shipped")
        if twin is not None and not set(twin.seeds) & set(study.seeds):
            (groups[f"{called(study)} · shipped and yours"],) = studies([*twin.runs, *study.runs])
    return groups


def called(study: Study) -> str:
    name = study.data.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return f"{name} · {study.sizes[0]:,} to {study.sizes[-1]:,} images"


def titles(of: Sequence[Subject]) -> list[str]:
    return [*offered()] or [NONE]


def sizes(of: Sequence[Subject], view: "DataSize") -> list[str]:
    study = view.study
    return [f"{images:,} images" for images in study.sizes] if study else [NONE]


class DataSize(View):
    """Accuracy against the number of training pictures."""

    runs: str | None = choice(
        "Runs",
        titles,
        "Of the shipped experiment, and of those that you have trained here.",
        listed=True,
        key="size_runs",
    )
    images: str | None = choice(
        "Curves by epoch",
        sizes,
        "By how many pictures: of the curves below.",
        follows=True,
        listed=True,
        key="size_epochs",
    )

    overlays: ClassVar = False
    how: ClassVar = How(
        "Each line is one method that learned from 100 to 12,000 of the same pictures, and each point the share of "
        "unseen test pictures that it then named. A line that is low on the left and rises to the right needs many "
        "pictures: a convolution has locality and translation equivariance built in, a transformer has to learn them "
        "from the pictures. A DeiT's teacher is the CNN of the same pictures (hollow) or that of all of them (filled); "
        "it learns from its first choices (dashes), from its softened answers (dots), or alone (a line).",
        r"\pm\, t_{.975}(\nu)\,\sqrt{\tfrac{s^2}{n_\text{seeds}} + \tfrac{p(1-p)}{N_\text{test}}},\quad "
        r"\nu = \frac{(V_\text{seeds} + V_\text{test})^2}{V_\text{seeds}^2/(n_\text{seeds}-1)}",
        "what large models do on photographs, where the crossing lies at millions of pictures; what more epochs or "
        "another augmentation would change; and what other training pictures would, for all seeds have the same ones.",
        "Dosovitskiy et al. 2020, § 4.3 and fig. 3; Touvron et al. 2021; d'Ascoli et al. 2021",
    )

    @property
    def study(self) -> Study | None:
        every = offered()
        return every.get(self.runs or "") or next(iter(every.values()), None)

    def title(self, of: Subject) -> str:
        return "Accuracy by number of training pictures"

    def show(self, of: Subject) -> Iterator[Block]:
        study = self.study
        if study is None:
            yield Line("No run of this experiment has come to its end yet. Train them below.")
        else:
            yield from self.results(of, study)
        yield Process("processes.data_size")

    def results(self, of: Subject, study: Study) -> Iterator[Block]:
        labels = of.made(labels_of, study.data, study.data_seed)
        yield from (Said(said) for said in findings(study))
        lines = [line_of(method, outcomes) for method in METHODS if (outcomes := study.of(method))]
        reached = ", ".join(f"{line.name} {in_percent(line.mean[0])} to {in_percent(line.mean[-1])}" for line in lines)
        figure = data_size(lines, 1 / len(labels) if labels else None, study.sizes)
        yield Chart(figure, f"Test accuracy against training images: {reached}")
        cells = {
            method: {f"{images:,} images": cell(study.at(method, images)) for images in study.sizes}
            for method in METHODS
            if study.of(method)
        }
        rows = tuple({"Method": method, **reached} for method, reached in cells.items())
        yield Table(rows, "Test accuracy by method and number of pictures", conditions(study, parameters(of, study)))
        yield Folded("By epoch: learned, or learned by heart?", partial(self.by_epoch, study, lines))
        yield Numbers(
            lambda: {
                "method": [each.method for each in study.outcomes],
                "images": [each.images for each in study.outcomes],
                "mean": [each.estimate.mean for each in study.outcomes],
                "low": [each.estimate.low for each in study.outcomes],
                "high": [each.estimate.high for each in study.outcomes],
            }
        )

    def by_epoch(self, study: Study, lines: Sequence[Drawn]) -> Iterator[Block]:
        """Training against validation accuracy: what is learned by heart."""
        names = {f"{images:,} images": images for images in study.sizes}
        name = self.images if self.images in names else next(iter(names))
        charts = []
        for what, heading in (
            ("train_accuracy", "On its training pictures, augmented"),
            ("val_accuracy", "On validation pictures"),
        ):
            figure = learning_curves(curves(study, names[name], what), "accuracy", percent=True, whole=True)
            figure = in_same_colours(figure, lines)
            charts.append(Chart(figure, f"{heading}, by epoch, {name}", f"{heading}: {name}"))
        yield side_by_side(*charts)
        yield Line(
            "An epoch shows every run as many pictures. A high accuracy on the left with a low one on the right is a "
            "set learned by heart. A ViT and a DeiT see half of the patches while they train, and a DeiT's class head "
            "is judged alone."
        )


def labels_of(data: str, data_seed: int) -> tuple[str, ...]:
    """None where the set cannot be opened any more, or would have to be downloaded."""
    if data.startswith("torchvision:"):
        return ()
    try:
        return open_set(data, "train", images=12 if data.startswith("insects") else None, seed=data_seed).labels
    except DatasetError:
        return ()


def line_of(method: str, outcomes: Sequence[Outcome]) -> Drawn:
    estimates, about = [outcome.estimate for outcome in outcomes], METHODS[method]
    return Drawn(
        method,
        method.split()[0],
        [outcome.images for outcome in outcomes],
        [each.mean for each in estimates],
        [max(0.0, each.low) for each in estimates],
        [min(1.0, each.high) for each in estimates],
        dash=DASHES.get(about.distillation, "solid") if about.teacher else "solid",
        hollow=about.teacher == "same",
        main=not about.teacher,
    )


def cell(outcome: Outcome | None) -> str:
    return "–" if outcome is None else outcome.words


def conditions(study: Study, models: str) -> str:
    """What it was run on, as the recipes and results say it."""
    least, most = study.shown
    shown = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    seeds = f"Seed{'s' if len(study.seeds) > 1 else ''} {', '.join(map(str, study.seeds))}"
    side = f" at {study.side_px} × {study.side_px} pixels" if study.side_px else ""
    return (
        f"{study.data}{side}; {models}every run was shown {shown} pictures, small sets again and again. {seeds}; ± "
        f"and bands are {study.intervals}."
    )


def parameters(of: Subject, study: Study) -> str:
    """How large the model of each method without a teacher is."""
    one = {method: run for run in study.runs if (method := method_of(run)) in UNTAUGHT}  # all of a method are alike
    counts = {method: of.made(parameters_of, run.recipe.to_json()) for method, run in one.items()}
    words = [f"{method} {count / 1e6:.2f} M" for method, count in counts.items() if count]
    return f"small models ({', '.join(words)} parameters); " if words else ""


def parameters_of(recipe_json: str) -> int:
    """Of a recipe's model, made anew without training it; 0 where it cannot be made."""
    from vizkit.training.architectures import build
    from vizkit.training.recipe import Recipe

    recipe = Recipe.from_json(recipe_json)
    labels = labels_of(recipe.data, recipe.data_seed)
    return sum(weights.numel() for weights in build(recipe, labels).parameters()) if labels else 0
