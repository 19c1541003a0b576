"""Teacher and student: their predictions at a temperature, the loss for every difference, and its gradient."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Literal

import torch
from torch import Tensor

from vizkit.analysis.distillation.loss import (
    kl_by_label,
    kl_gradient,
    losses,
    soft_gradient,
)
from vizkit.analysis.distillation.temperature import against_even, softened
from vizkit.analysis.remarks import distillation as remarks
from vizkit.figure.class_bars import Axis, reach
from vizkit.figure.distillation.class_matrix import class_matrix
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.blocks import (
    Block,
    Blocks,
    Chart,
    Folded,
    Heading,
    Job,
    Later,
    Line,
    Numbers,
    Picture,
    Said,
    Table,
    side_by_side,
)
from vizkit.views.controls import choice, folder, number
from vizkit.views.distillation.answers import Answers, ask, same
from vizkit.views.distillation.axes import LOWEST, axes
from vizkit.views.distillation.classes import TEMPERATURES, Classes, class_names
from vizkit.views.distillation.labelled import COUNTS, FOLDER, WORDS, awaited, models, opened, sets, subject_called
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

THIS, MANY = "this image", "many pictures"
OWN = "that of the image"
MOST_STUDENTS, MOST_ROWS = 3, 40


def classes_of(of: Sequence[Subject]) -> list[str]:
    named = class_names(of[0]) if of and of[0].has_model else ()
    return [OWN, *dict.fromkeys(named)]


def names_of(of: Sequence[Subject]) -> list[str]:
    return list(dict.fromkeys(bundled.title(each.name) for each in of))


class TeacherStudent(View):
    """The loss of a student whose predictions differ from its teacher's."""

    teacher: str | None = choice(
        "Teacher",
        models,
        "Models that come with vizkit and know the same classes, and those of the sidebar. All others of the sidebar "
        "are students.",
        key="teacher",
        runs=True,
    )
    over: Literal["this image", "many pictures"] = choice("Over", (THIS, MANY), key="distil_over", runs=True)
    temperature: float = number(
        "Temperature T",
        LOWEST,
        TEMPERATURES[-1],
        3.0,
        "Softens both teacher and student.",
        at=tuple(t for t in TEMPERATURES if t >= LOWEST),
        plays=True,
        key="loss_temperature",
    )
    share: float = number(
        "Teacher's share λ",
        0.0,
        1.0,
        0.5,
        "0: the student learns from the label alone, 1: from the teacher alone.",
        step=0.05,
        key="share",
    )
    label: str = choice(
        "Label y",
        classes_of,
        "The class of the image; of one whose class is not known the teacher's first choice. Choose a wrong one to see "
        "its effect on the loss.",
        default=OWN,
        key="label",
        when=lambda view: view.over == THIS,
        more=True,
    )
    data: str | None = choice(
        "Pictures",
        sets,
        "Test pictures.",
        words=WORDS,
        key="distil_set",
        when=lambda view: view.over == MANY,
        runs=True,
        more=True,
    )
    folder: str = folder(
        "Folder", key="distil_folder", when=lambda view: view.over == MANY and view.data == FOLDER, runs=True, more=True
    )
    images: Literal["50", "100", "200", "500", "1000", "2000"] = choice(
        "How many",
        COUNTS,
        default="100",
        key="distil_images",
        when=lambda view: view.over == MANY,
        runs=True,
        more=True,
    )
    student: str | None = choice(
        "Student", names_of, "Whose loss is taken apart, class by class.", key="student", more=True
    )

    together = True
    overlays = False
    how = How(
        "Teacher and student answer at one temperature; the divergence is the loss for every difference, class by "
        "class. Single terms may be negative, where the student gives a class more than the teacher; their sum cannot. "
        "The gradient shows where the logits go: a bar to the left is a class whose logit rises. It shrinks as 1/T², "
        "which the factor T² compensates, so that λ means the same at every temperature.",
        r"L = (1-\lambda)\,\mathrm{CE}(z_s, y) + \lambda\, T^2\,\mathrm{KL}\big(\mathrm{softmax}(z_t/T)\,\|\,"
        r"\mathrm{softmax}(z_s/T)\big), \qquad \frac{\partial\,\mathrm{KL}}{\partial z_s} = \frac{p_s(T) - p_t(T)}{T}",
        "how the student learned: it is shown after training, without augmentation, and a distilled ViT as the mean of "
        "its two heads, which training gives a part of the loss each. A teacher trained with label smoothing, as "
        "CNN · insects was, has little dark knowledge.",
        "Hinton, Vinyals & Dean 2015, § 2; hard labels: Touvron et al. 2021, eq. 3; smoothing: Müller et al. 2019",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"{self._whom(of)[0]} as a teacher, T = {self.temperature:g}, λ = {self.share:g}"

    def show(self, of: Sequence[Subject]) -> Blocks:
        name, teacher, students = self._whom(of)
        taught, refused = same(name, teacher, students)
        if self.over == THIS:
            logits = {each: student.seen.logits[None, order] for each, (student, order) in taught.items()}
            classes, found = class_names(teacher), teacher.seen.logits[None]
            yield from self.on_image(name, Answers(found, logits, classes, self._label(of[0], classes, found)), of[0])
        elif sentence := awaited(of[0], self.data, self.folder):
            raise NotApplicable(sentence)
        else:

            def work(progress: Callable[[int, int], None]) -> Answers:
                size_px = max(teacher.loaded.preprocessing.size_hw)
                return ask(opened(of[0], self.data, self.folder, int(self.images), size_px), teacher, taught, progress)

            key = ("taught", name, tuple(taught), self.data, self.folder, self.images)
            job = Job(key, f"Asking {1 + len(taught)} models", work)
            yield Later(of[0], (job,), lambda found: chain(*(self.on_many(name, each) for each in found.values())))
        yield from map(Line, refused)

    # ---- who ---------------------------------------------------------------------------------------------------------
    def _whom(self, of: Sequence[Subject]) -> tuple[str, Subject, dict[str, Subject]]:
        """The teacher's name, the teacher, and the students by name; of a teacher alone, one that comes with vizkit."""
        known = models(of)
        name = self.teacher or known[0]
        students = {each: subject_called(each, of) for each in names_of(of) if each != name}
        if not students:
            others = [each for each in models(of, "vit") if each != name]
            if not others:
                raise NotApplicable(f"{name} is alone here: choose a second model that knows the same classes.")
            students = {others[0]: subject_called(others[0], of)}
        return name, subject_called(name, of), dict(list(students.items())[:MOST_STUDENTS])

    def _label(self, of: Subject, classes: tuple[str, ...], teacher: Tensor) -> Tensor:
        wanted = of.image.removeprefix("digit ") if self.label == OWN else self.label
        return torch.tensor([classes.index(wanted) if wanted in classes else int(teacher[0].argmax())])

    # ---- predictions -------------------------------------------------------------------------------------------------
    def on_image(self, name: str, answers: Answers, of: Subject) -> Blocks:
        """Soft labels, soft predictions, and the loss for every difference: a row is a class in all of them."""
        rows, label = Classes.of(answers.teacher[0], answers.classes), int(answers.labels[0])
        logits = {each: found[0] for each, found in answers.students.items()}
        yield Said(remarks.taught(answers.teacher[0], logits, self.temperature, answers.classes))
        true = answers.classes[label].split(",")[0]
        known = self.label != OWN or of.image.removeprefix("digit ") in answers.classes
        columns: list[tuple[Block, ...]] = []
        for who, each in {f"Teacher: {name}": answers.teacher[0], **logits}.items():
            soft, hard = (softened(each, t).of(rows.shown) for t in (self.temperature, 1.0))
            first = int(each.argmax())
            verdict = "" if not known else ", right" if first == label else f", not “{true}”"
            words = f"first choice: {answers.classes[first].split(',')[0]}{verdict}"
            columns.append((Heading(who), rows.bars(soft, f"{who}: probability of every class", hard), Line(words)))
        yield side_by_side(*columns, *self.by_class(answers, rows))
        yield Line(
            f"Bars of teacher and students: probabilities at T = {self.temperature:g}. Ticks: at T = 1. Bars of the "
            "gradient: of T² · KL. Ticks: of KL alone."
        )
        words = f"label: {true}" if known else f"no known label: “{true}”, the teacher's choice, stands in"
        seen = Picture(of.seen_rgb, "What the models see", words)
        yield side_by_side(seen, self.losses(answers), widths=(0.6, 3))
        yield from self.rest(answers)

    def on_many(self, name: str, answers: Answers) -> Blocks:
        """What each says of the pictures of every class beside that class."""
        found = {each: losses(answers.teacher, z, answers.labels, 1.0, 0.0) for each, z in answers.students.items()}
        right, agrees = ({each: getattr(loss, what) for each, loss in found.items()} for what in ("right", "agrees"))
        yield Said(remarks.agreed(right, agrees, len(answers.labels)))
        if len(answers.classes) > MOST_ROWS:
            yield Line(f"{len(answers.classes)} classes are too many for a picture of every pair.")
        else:
            every = {f"Teacher: {name}": answers.teacher, **answers.students}
            values = {who: against_even(z, answers.labels, self.temperature).numpy() for who, z in every.items()}
            charts = []
            for who, each in values.items():
                figure = class_matrix(answers.classes, each, "label", "other class", "times the even share")
                charts.append(Chart(figure, f"{who}: what images of each class resemble", who))
            yield side_by_side(*charts)
            yield Line(
                f"Rows: the labels of {len(answers.labels):,} pictures. Columns: the probability of every other class "
                f"at T = {self.temperature:g}, relative to an even share; 1 is as likely as any other."
            )
        yield from self.losses(answers)
        yield side_by_side(*self.by_class(answers, Classes.of(answers.teacher.mean(0), answers.classes)))
        yield Line("Bars of the gradient: of T² · KL. Ticks: of KL alone.")
        yield from self.rest(answers)

    # ---- what it costs -----------------------------------------------------------------------------------------------
    def _apart(self, answers: Answers) -> tuple[str, Tensor, Tensor, Tensor]:
        """(whose, what every class adds to KL, the gradient of KL, that of T² · KL), means over the pictures."""
        name = self.student if self.student in answers.students else next(iter(answers.students))
        given = (answers.teacher, answers.students[name], self.temperature)
        parts, plain, scaled = (make(*given).mean(0) for make in (kl_by_label, kl_gradient, soft_gradient))
        return name, parts, plain, scaled

    def by_class(self, answers: Answers, rows: Classes) -> Iterator[tuple[Block, ...]]:
        name, *each = self._apart(answers)
        parts, plain, scaled = (values[list(rows.shown)].tolist() for values in each)
        wide, steep = Axis(reach(each[0].tolist()), signed=True), Axis(reach(plain, scaled), signed=True)
        yield (
            Heading("Adds to KL"),
            rows.bars(parts, "What every class adds to KL", None, wide, "nats"),
            Line(
                f"{name}: together {float(each[0].sum()):.3f} nats. Below zero it gives a class more than the teacher: "
                "single terms may be negative, their sum cannot."
            ),
        )
        yield (
            Heading("Gradient"),
            rows.bars(scaled, "Gradient of the soft loss on every logit", plain, steep, "∂L / ∂z"),
            Line(f"{name}: training goes against it. To the left a logit rises."),
        )

    def losses(self, answers: Answers) -> Blocks:
        several = len(answers.labels) > 1
        yield Heading(f"Losses in nats{f', mean over {len(answers.labels):,} pictures' if several else ''}")
        yield Table(
            tuple(self._row(name, answers, several) for name in answers.students),
            "Parts of the loss of every student",
            f"Soft: (1 − λ) · CE with the label + λ · T² · KL, with λ = {self.share:g} and T = {self.temperature:g}. "
            "Hard: the teacher's first choice as a second label in place of T² · KL; with λ = ½ this is DeiT's.",
        )

    def rest(self, answers: Answers) -> Blocks:
        name, parts, _, scaled = self._apart(answers)
        along = partial(axes, answers, answers.students[name], self.temperature, self.share)
        yield Folded("Every temperature and every share", along)
        yield Numbers(
            lambda: {
                "logits": torch.stack([answers.teacher, *answers.students.values()]).double(),
                "names": ["teacher", *answers.students],
                "labels": answers.labels,
                "by_class": parts,
                "gradient": scaled,
            }
        )

    def _row(self, name: str, answers: Answers, several: bool) -> dict[str, str | float | None]:
        loss = losses(answers.teacher, answers.students[name], answers.labels, self.temperature, self.share)
        cells = {
            "KL": loss.kl,
            "T² · KL": loss.soft,
            "CE, label": loss.label,
            "CE, teacher's choice": loss.teacher_choice,
            "soft distillation": loss.soft_distillation,
            "hard distillation": loss.hard_distillation,
        }
        row: dict[str, str | float | None] = {"": name, **{what: f"{value:.3f}" for what, value in cells.items()}}
        return row | (
            {"right": in_percent(loss.right, 1), "as the teacher": in_percent(loss.agrees, 1)} if several else {}
        )
