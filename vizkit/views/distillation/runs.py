"""Does it help? The same student with no, a soft and a hard teacher, from runs that were trained."""

from collections.abc import Mapping, Sequence
from functools import partial

from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.remarks.data_size import signed
from vizkit.analysis.remarks.remark import counted, joined
from vizkit.figure.evaluation.data_size import Line as Drawn
from vizkit.figure.evaluation.data_size import teacher_gain
from vizkit.figure.training.learning_curves import learning_curves
from vizkit.percent import in_percent
from vizkit.training.experiments.data_size import METHODS
from vizkit.training.experiments.groups import (
    DIGITS,
    PUBLISHED,
    Experiment,
    Outcome,
    curves,
    experiments,
    name_of,
    outcomes,
    student_of,
)
from vizkit.training.experiments.size_findings import TEACHERS, teacher_finding, teacher_gains
from vizkit.training.experiments.size_results import Study, studies
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.views import bundled
from vizkit.views.blocks import Blocks, Chart, Folded, Heading, Line, Numbers, Process, Said, Table, side_by_side
from vizkit.views.controls import choice
from vizkit.views.distillation.labelled import WORDS
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

SHIPPED = bundled.FOLDER / "experiments"
CONTROLS = {"DeiT alone": "the same DeiT of the same seeds without", "ViT": "the ViT of the same seeds without"}
PANELS = {"all": "A teacher that has seen all pictures", "same": "A teacher that has seen the same pictures"}
NONE = "none yet"
NETWORKS = {"digits_deit": "DeiT"} | {name: model.kind for name, model in bundled.MODELS.items()}


def shipped(name: str) -> list[RunFolder]:
    return [RunFolder(file.parent) for file in sorted((SHIPPED / name).glob("*/recipe.json"))]


def called(student: Recipe) -> str:
    """What all runs of an experiment have in common, in words."""
    network = NETWORKS.get(student.model, student.model)
    few = f" · {student.images:,} images" if student.images else ""
    return f"{network} on {WORDS.get(student.data, student.data)}{few} · {student.epochs} epochs"


def found() -> dict[str, Experiment]:
    """The experiments that there are by their titles, shipped ones first."""
    own = experiments(runs(), student_of(DIGITS))
    named = [(called(each.student), each) for each in experiments(shipped("distillation"))]
    named += [(f"yours: {called(each.student)}", each) for each in own]
    titles = [title for title, _ in named]
    return {
        f"{title} ({index + 1})" if title in titles[:index] else title: each
        for index, (title, each) in enumerate(named)
    }


def titles(of: Sequence[Subject]) -> list[str]:
    return [*found()] or [NONE]


class DoesItHelp(View):
    """The same student with no, a soft and a hard teacher."""

    experiment: str | None = choice(
        "Experiment",
        titles,
        "Runs that differ in the teacher only; your own come from the Train page.",
        key="experiment",
        listed=True,
    )

    overlays = False
    how = How(
        "The first pictures: how much more accurate a student with a teacher is than one without, by how many pictures "
        "it learned from; where a whisker crosses zero, no difference is shown. Below, every line is the same student "
        "on the same pictures: only the teacher differs, and the seed where a band shows the lowest and highest of "
        "several. Compare test accuracies at the end, and believe a gain when other seeds give it too.",
        r"\mathcal L = (1-\lambda)\,\mathrm{CE}(z_s, y) + \lambda \begin{cases} T^2\,\mathrm{KL}\!\left("
        r"p_t^{(T)} \,\|\, p_s^{(T)}\right) & \text{soft} \\ \mathrm{CE}(z_s, \arg\max z_t) & \text{hard} \end{cases}",
        "whether another student, another teacher or a longer training would gain as much.",
        "Hinton, Vinyals & Dean 2015; Touvron et al. 2021, § 5.2",
    )

    def title(self, of: Subject) -> str:
        return "What a teacher adds"

    def show(self, of: Subject) -> Blocks:
        known = [study for study in studies(shipped("data_size")) if teacher_gains(study)]
        for study in known:
            yield from by_size(study)
        every = found()
        experiment = every.get(self.experiment or "") or next(iter(every.values()), None)
        if experiment is None:
            yield Line("No runs yet of one student with and without a teacher. Begin with the digits below.")
        else:
            yield from comparison(experiment)
        yield Process("digits_experiment")
        yield Folded("Results of the paper", published)
        results = outcomes(experiment) if experiment else []
        rows = [
            (kind, images, [gain.mean, gain.half])
            for study in known
            for kind, gained in teacher_gains(study).items()
            for images, gain in gained.items()
        ]
        yield Numbers(
            lambda: (
                dict(zip(("teacher", "images", "gain"), zip(*rows, strict=True), strict=False))
                | {
                    "taught": [line.taught for line in results],
                    "test": [line.test for line in results if line.test is not None],
                }
            )
        )


# ---- by how many pictures --------------------------------------------------------------------------------------------
def by_size(study: Study) -> Blocks:
    """The gain of each kind of teacher with its interval, on one scale, and where one helps and where not."""
    gains = teacher_gains(study)
    said = teacher_finding(study)
    yield Said(said or "")
    ends = [end for gained in gains.values() for gain in gained.values() for end in interval(gain)]
    reach = (min([*ends, 0.0]) - 0.02, max([*ends, 0.0]) + 0.02)
    panels = []
    for whose, title in PANELS.items():
        lines = [
            line_of(METHODS[method].distillation, gains[kind])
            for method, kind in TEACHERS.items()
            if kind in gains and METHODS[method].teacher == whose
        ]
        if lines:
            panels.append(Chart(teacher_gain(lines, study.sizes, reach), f"{title}: {alt(lines)}", title))
    yield side_by_side(*panels)
    seeds = joined([str(seed) for seed in study.seeds])
    yield Line(
        f"A DeiT with a CNN for a teacher against {CONTROLS[study.control]}: {WORDS.get(study.data, study.data)} at "
        f"{study.side_px} × {study.side_px} pixels, seeds {seeds}, 95 % intervals; without a whisker, one seed."
    )
    yield Folded("Numbers", partial(gain_table, gains))


def interval(gain: Estimate) -> tuple[float, float]:
    """One seed alone does not say how much another would change, so it has no whisker."""
    half = gain.half if gain.seeds > 1 else 0.0
    return gain.mean - half, gain.mean + half


def line_of(name: str, gained: Mapping[int, Estimate]) -> Drawn:
    means, ends = [gain.mean for gain in gained.values()], [interval(gain) for gain in gained.values()]
    return Drawn(f"{name} labels", name, list(gained), means, [low for low, _ in ends], [high for _, high in ends])


def alt(lines: Sequence[Drawn]) -> str:
    return "; ".join(
        f"{line.name}: "
        + ", ".join(f"{mean:+.1%} with {images:,}" for images, mean in zip(line.images, line.mean, strict=True))
        for line in lines
    )


def gain_table(gains: Mapping[str, Mapping[int, Estimate]]) -> Blocks:
    sizes = sorted({images for gained in gains.values() for images in gained})
    rows = [
        {"Points above no teacher": kind, **{f"{images:,} images": signed(gained.get(images)) for images in sizes}}
        for kind, gained in gains.items()
    ]
    yield Table(tuple(rows), "Points above no teacher by number of pictures")


# ---- one experiment --------------------------------------------------------------------------------------------------
def comparison(experiment: Experiment) -> Blocks:
    yield Heading(called(experiment.student))
    if any(run.metrics() for run in experiment.runs):
        yield side_by_side(*(curve_chart(experiment, f"val_{name}", name) for name in ("accuracy", "loss")))
    else:
        yield Line("No run has finished an epoch yet.")
    results = outcomes(experiment)
    several = any(line.runs > 1 for line in results)
    yield Table(tuple(row_of(line, several) for line in results), "What every teaching has reached")
    if words := verdict(results):
        yield Said(words)


def curve_chart(experiment: Experiment, what: str, name: str) -> Chart:
    lines = curves(experiment, what)
    figure = learning_curves(lines, f"validation {name}", percent=name == "accuracy")
    return Chart(figure, f"Validation {name} by epoch: {', '.join(line.name for line in lines)}", f"Validation {name}")


def row_of(line: Outcome, several: bool) -> dict[str, str | float | None]:
    """What says nothing where each teaching has one run is left out."""
    tests = line.tests.values()
    row: dict[str, str | float | None] = {
        "Taught": line.taught,
        "Teacher": teacher_of(line.teacher),
        "Best validation": percent(line.best_val),
        "Test": percent(line.test),
        "Gain in points": None
        if line.gain is None
        else f"{100 * line.gain:+.1f} ± {100 * (line.gain_error or 0):.1f}".replace("-", "−"),
    }
    if several:
        row["Runs"] = f"{line.runs}"
        row["Test, from … to"] = f"{in_percent(min(tests), 1)} … {in_percent(max(tests), 1)}" if tests else None
        row["Seeds above no teacher"] = f"{line.above} of {line.pairs}" if line.pairs else None
    return row


def teacher_of(source: str) -> str | None:
    """For people; a run of one's own by its name."""
    called = bundled.title(source)
    return (called if called != source else name_of(source)) or None


def percent(share: float | None) -> str | None:
    return None if share is None else in_percent(share, 1)


def verdict(results: Sequence[Outcome]) -> str:
    """What the runs allow to say, and no more: standard errors are those of the test pictures, which one seed cannot
    add to."""
    known = [(line, line.gain, line.gain_error) for line in results if line.gain is not None and line.gain_error]
    if not known:
        return ""
    best, gain, error = max(known, key=lambda row: row[1])
    fewest, images = min(len(line.tests) for line in results if line.tests), f"{best.images:,} test pictures"
    points = f"{abs(100 * gain):.1f} points {'above' if gain > 0 else 'below'} no teacher"
    if fewest == 1:
        return (
            f"“{best.taught}” is {points}, ± {100 * error:.1f} by the choice of {images}: a single seed does not say "
            "whether another one would gain as much."
        )
    seeds = counted(fewest, "seed")
    if abs(gain) <= 2 * error:
        return (
            f"With {seeds} no teaching is told apart from no teacher: the best, “{best.taught}”, is {points}, less "
            f"than two standard errors of {images}."
        )
    above = f" and better with {best.above} of {best.pairs} seeds" if best.pairs else ""
    return f"With {seeds} “{best.taught}” is {points}, {abs(gain) / error:.1f} standard errors of {images}{above}."


def published() -> Blocks:
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
