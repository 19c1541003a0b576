"""Does it help? Test accuracy by the number of training images: a DeiT with a teacher, its teacher, and the DeiT alone;
or an MLP, a CNN, a Swin and a ViT beside them; or what the paper found."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from vizkit.analysis.remarks.data_size import signed
from vizkit.analysis.remarks.distillation import worth
from vizkit.analysis.remarks.remark import begun
from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.opening import open_set
from vizkit.figure.charts import paired_bars
from vizkit.figure.evaluation.data_size import TAUGHT, data_size
from vizkit.figure.evaluation.data_size import Line as Drawn
from vizkit.percent import in_percent
from vizkit.training.experiments.data_size import METHODS
from vizkit.training.experiments.size_findings import TEACHERS, UNTAUGHT, leads, teacher_finding, teacher_gains
from vizkit.training.experiments.size_results import Outcome, Study, method_of, studies
from vizkit.training.runs.folder import RunFolder, runs, runs_root
from vizkit.views import bundled
from vizkit.views.blocks import Blocks, Chart, Folded, Line, Numbers, Process, Said, Table
from vizkit.views.controls import choice
from vizkit.views.distillation.labelled import WORDS
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

SHIPPED = bundled.FOLDER / "experiments" / "data_size"
NONE = "none yet"
PAIR, EVERY, PAPER = "student and teacher", "every network", "the paper"
PUBLISHED = (  # Touvron et al. 2021, table 3: top-1 on ImageNet at 224², percent
    ("no teacher", 72.2, 79.8, 81.8),
    ("soft, class token only", 72.2, 79.8, 81.8),
    ("hard, class token only", 74.3, 80.9, 83.0),
    ("hard, read from the class token", 73.9, 80.9, 83.0),
    ("hard, read from the distillation token", 74.6, 81.1, 83.1),
    ("hard, both averaged", 74.5, 81.2, 83.4),
)
USUAL = (81.8, 83.1)
ABLATION = {  # Touvron et al. 2021, table 8: top-1 on ImageNet, percent, of DeiT-B at 224², and fine-tuned at 384²
    "SGD for pre-training": (74.5, 77.3),
    "neither Mixup nor CutMix": (75.8, 76.7),
    "no repeated augmentation": (76.5, 77.4),
    "no Mixup": (78.7, 79.8),
    "no RandAugment": (79.6, 80.4),
    "no CutMix": (80.0, 80.6),
    "AutoAugment instead": (81.2, 81.9),
    "with dropout": (81.3, 83.1),
    "SGD for fine-tuning": (81.8, 83.1),
    "with a moving average": (81.9, 83.1),
}


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


class DoesItHelp(View):
    """Whether a teacher makes a DeiT more accurate, by the number of training images."""

    shows: Literal["student and teacher", "every network", "the paper"] = choice(
        "Show", (PAIR, EVERY, PAPER), "The networks of one study; or the published results.", key="gain_shows"
    )
    taught: Literal["DeiT hard, all", "DeiT hard, same", "DeiT soft, all", "DeiT soft, same"] = choice(
        "Teacher",
        tuple(TEACHERS),
        "Hard: its first choice is a second label. Soft: its softened answer. It has learned from all images, or from "
        "the same ones as its student.",
        words=TEACHERS,
        listed=True,
        key="gain_teacher",
        when=lambda view: view.shows != PAPER,
    )
    runs: str | None = choice(
        "Runs",
        titles,
        "Of the shipped experiment, and of those that you have trained here.",
        listed=True,
        key="size_runs",
        when=lambda view: view.shows != PAPER,
    )

    overlays = False
    how = How(
        "Each line is one network that learned from 100 to 12,000 of the same images, and each point the share of "
        "unseen test images that it then named; bands are 95 % intervals over seeds and test images. A line that is "
        "low on the left and rises to the right needs many images: a convolution has locality and translation "
        "equivariance built in, a transformer has to learn them.",
        r"\mathcal L = (1-\lambda)\,\mathrm{CE}(z_s, y) + \lambda \begin{cases} T^2\,\mathrm{KL}\!\left("
        r"p_t^{(T)} \,\|\, p_s^{(T)}\right) & \text{soft} \\ \mathrm{CE}(z_s, \arg\max z_t) & \text{hard} \end{cases}"
        r"\qquad \pm\, t_{.975}(\nu)\,\sqrt{\tfrac{s^2}{n_\text{seeds}} + \tfrac{p(1-p)}{N_\text{test}}}",
        "what large models do on photographs, where the crossing lies at millions of images; what another teacher, "
        "more epochs or another augmentation would change; and what other training images would: all seeds have the "
        "same.",
        "Hinton, Vinyals & Dean 2015; Touvron et al. 2021, § 5.2 and tables 3 and 8; Dosovitskiy et al. 2020, § 4.3; "
        "d'Ascoli et al. 2021",
    )

    @property
    def study(self) -> Study | None:
        every = offered()
        return every.get(self.runs or "") or next(iter(every.values()), None)

    def title(self, of: Subject) -> str:
        return "What a teacher adds" if self.shows != EVERY else "Accuracy by number of training images"

    def show(self, of: Subject) -> Blocks:
        if self.shows == PAPER:
            yield from published()
            return
        study = self.study
        if study is None:
            yield Line("No run of this experiment has come to its end yet. Train them below.")
        else:
            labels = of.made(labels_of, study.data, study.data_seed)
            chance = 1 / len(labels) if labels else None
            yield from (self.pair(study, chance) if self.shows == PAIR else self.every(of, study, chance))
            yield Numbers(
                lambda: {
                    "method": [each.method for each in study.outcomes],
                    "images": [each.images for each in study.outcomes],
                    **{
                        end: [getattr(each.estimate, end) for each in study.outcomes] for end in ("mean", "low", "high")
                    },
                }
            )
        yield Process("processes.data_size")

    def pair(self, study: Study, chance: float | None) -> Blocks:
        """A DeiT, its teacher, and the same DeiT alone; and whether the teacher helped."""
        kind, same = TEACHERS[self.taught], METHODS[self.taught].teacher == "same"
        gained = teacher_gains(study).get(kind)
        if not gained:
            yield Line(f"These runs have no DeiT with a {kind}; choose another teacher, or train them below.")
            return
        plain, best = PUBLISHED[0][-1], max(values[-1] for name, *values in PUBLISHED if name.startswith(kind[:4]))
        paper = f"On ImageNet the paper of DeiT reports {best - plain:+.1f} points for a {kind[:4]} one."
        yield Said(f"{teacher_finding(kind, gained)} {paper}")
        cnns = study.of("CNN")
        lines = [replace(line_of(self.taught, study.of(self.taught)), name="DeiT with it")]
        lines.append(line_of(study.control, study.of(study.control)))
        if cnns:
            whole = cnns if same else [replace(cnns[-1], images=images) for images in study.sizes]
            lines += [replace(line_of("CNN", whole), name="its teacher")]
        yield Chart(data_size(lines, chance, study.sizes), f"Test accuracy against training images: {reached(lines)}")
        yield Line(
            f"The teacher is a CNN; {study.control} is the same student of the same seeds without it. "
            f"{data_of(study)} at {study.side_px} × {study.side_px} pixels, {study.intervals}."
        )
        yield Folded("All four teachers in numbers", partial(gain_table, study))

    def every(self, of: Subject, study: Study, chance: float | None) -> Blocks:
        yield Said(" ".join(leads(study)))
        shown = [method for method in METHODS if method in (*UNTAUGHT, self.taught)]
        lines = [line_of(method, outcomes) for method in shown if (outcomes := study.of(method))]
        yield Chart(data_size(lines, chance, study.sizes), f"Test accuracy against training images: {reached(lines)}")
        cells = {
            method: {f"{images:,} images": cell(study.at(method, images)) for images in study.sizes}
            for method in METHODS
            if study.of(method)
        }
        rows = tuple({"Method": method, **accuracies} for method, accuracies in cells.items())
        yield Table(rows, "Test accuracy by method and number of images", conditions(study, parameters(of, study)))


def reached(lines: Sequence[Drawn]) -> str:
    return ", ".join(f"{line.name} {in_percent(line.mean[0])} to {in_percent(line.mean[-1])}" for line in lines)


def gain_table(study: Study) -> Blocks:
    gains = teacher_gains(study)
    rows = [
        {"Points above none": kind, **{f"{images:,} images": signed(gained.get(images)) for images in study.sizes}}
        for kind, gained in gains.items()
    ]
    yield Table(tuple(rows), "Points above no teacher by number of images", "With 95 % intervals, each for itself.")


def published() -> Blocks:
    """What the paper of DeiT found: what a teacher adds, and what each part of its recipe."""
    best = {name: values[-1] for name, *values in PUBLISHED}
    yield Said(
        f"On ImageNet a hard teacher adds {best['hard, both averaged'] - best['no teacher']:.1f} points to DeiT-B, "
        f"{best['no teacher']:.1f} to {best['hard, both averaged']:.1f} %; a soft one adds nothing."
    )
    columns = ("Taught", "DeiT-Ti", "DeiT-S", "DeiT-B")
    yield Table(
        tuple(
            {"Taught": name, **{column: f"{value:.1f} %" for column, value in zip(columns[1:], values, strict=True)}}
            for name, *values in PUBLISHED
        ),
        "Published accuracies",
        "Top-1 on ImageNet at 224², teacher RegNetY-16GF with 82.9 %, T = 3 and λ = 0.1 where soft (Touvron et al. "
        "2021, table 3).",
    )
    yield Said(worth({change: at_224 for change, (at_224, _) in ABLATION.items()}, USUAL[0]))
    places = {"trained at 224²": 0, "fine-tuned at 384²": 1}
    changes = {name: [values[at] - USUAL[at] for values in ABLATION.values()] for name, at in places.items()}
    figure = paired_bars([*ABLATION], changes, "points of top-1 on ImageNet, against the recipe")
    figure.update_traces(texttemplate="%{x:.1f}", textposition="outside", cliponaxis=False)
    yield Chart(figure, "DeiT's ablation: the points that every change of the recipe costs")
    yield Line(
        f"DeiT-B as published reaches {USUAL[0]} % at 224² and {USUAL[1]} % at 384². Two runs did not train at all: no "
        "erasing (4.3 %) and no stochastic depth (3.4 %); the paper says that other hyper-parameters might have made "
        "them."
    )
    yield Numbers(lambda: {"published": [values for _, *values in PUBLISHED], "ablation": [*ABLATION.values()]})


def labels_of(data: str, data_seed: int) -> tuple[str, ...]:
    """None where the set cannot be opened any more, or would have to be downloaded."""
    if data.startswith("torchvision:"):
        return ()
    try:
        return open_set(data, "train", images=12 if data.startswith("insects") else None, seed=data_seed).labels
    except DatasetError:
        return ()


def line_of(method: str, outcomes: Sequence[Outcome]) -> Drawn:
    estimates = [outcome.estimate for outcome in outcomes]
    return Drawn(
        method,
        TAUGHT if METHODS[method].teacher else method.split()[0],
        [outcome.images for outcome in outcomes],
        [each.mean for each in estimates],
        [max(0.0, each.low) for each in estimates],
        [min(1.0, each.high) for each in estimates],
    )


def data_of(study: Study) -> str:
    return begun(WORDS[study.data]) if study.data in WORDS else study.data


def cell(outcome: Outcome | None) -> str:
    return "–" if outcome is None else outcome.words


def conditions(study: Study, models: str) -> str:
    """What it was run on, as the recipes and results say it."""
    least, most = study.shown
    shown = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    seeds = f"Seed{'s' if len(study.seeds) > 1 else ''} {', '.join(map(str, study.seeds))}"
    side = f" at {study.side_px} × {study.side_px} pixels" if study.side_px else ""
    return (
        f"{data_of(study)}{side}; {models}every run was shown {shown} images, small sets again and again. {seeds}; "
        f"± and bands are {study.intervals}."
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
