"""Teacher and student: their answers softened by one temperature, what is left beside the first choice, what a student
pays for every difference from its teacher, and what the two tokens of a DeiT do."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from vizkit.analysis.distillation.loss import (
    kl,
    kl_by_label,
    losses,
    soft_gradient,
)
from vizkit.analysis.distillation.temperature import (
    along,
    dark_knowledge,
    entropy_share,
    probabilities,
    softened,
    temperatures,
)
from vizkit.analysis.remarks import distillation as remarks
from vizkit.analysis.remarks.remark import begun
from vizkit.datasets.samples import INSECTS
from vizkit.figure.class_bars import FLOOR, Axis, reach
from vizkit.figure.distillation.lines_at import Line as Curve
from vizkit.figure.distillation.lines_at import lines_at
from vizkit.figure.palette import OTHERS
from vizkit.traces import not_applicable
from vizkit.views import bundled
from vizkit.views.blocks import (
    Answered,
    Block,
    Blocks,
    Chart,
    Folded,
    Heading,
    Line,
    Link,
    Numbers,
    Part,
    Picture,
    Proof,
    Said,
    Table,
    side_by_side,
)
from vizkit.views.controls import choice, folder, number, switch, text
from vizkit.views.distillation import TYPED, tokens
from vizkit.views.distillation.beside import ALONE, CLS, DIST, MEAN, TEACHER, Answer, answers_of
from vizkit.views.distillation.classes import MOST, TEMPERATURES, Classes, class_names, known_label
from vizkit.views.distillation.differences import gradients, pays
from vizkit.views.distillation.labelled import FOLDER, WORDS
from vizkit.views.distillation.typed_logits import GOLDEN, TypedError, read
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MODEL = "the model"
DARK = "How all others share what the first choice leaves"
FEW = 7  # rows of the answers of a model: the first five, and the others as one
TAUGHT = ("teacher", "by_class", "gradient")  # the numbers of a student beside its teacher
BESIDE = {"cls": CLS, "dist": DIST, "alone": ALONE}  # logits of others, as they are saved
NOTHING = torch.zeros(0)
BETWEEN = (CLS, MEAN)  # the distillation token is nearer to the teacher, and the network alone farther
INSTEAD, STUDENT = "mayfly nymph", "bundled:insects_deit"


class Temperature(View):
    """What a student has learned from its teacher: all answers softened by one temperature, the loss and the tokens."""

    source: Literal["the model", "typed logits"] = choice(
        "Logits of",
        (MODEL, TYPED),
        "The model's answer to the image in the sidebar, before softmax; or numbers of your own.",
        key="logits_of",
    )
    logits: str = text(
        "Logits",
        GOLDEN,
        "Two numbers or more. Classes may have names: cow = 17, dog = 11.",
        key="logits",
        longest=1000,
        when=lambda view: view.source == TYPED,
    )
    temperature: float = number(
        "Temperature T",
        TEMPERATURES[0],
        TEMPERATURES[-1],
        3.0,
        "Divides the logits before softmax: 1 is the model's own answer.",
        at=TEMPERATURES,
        plays=True,
        key="temperature",
    )
    log: bool = switch(
        "Log scale", "Shows what is too small for a bar: equal steps are equal factors.", key="log_scale"
    )
    every: bool = switch(
        "All answers and classes",
        "A bar for each class, not only for the first five; of a DeiT the class token and the mean of both tokens too.",
        key="all_classes",
        more=True,
        when=lambda view: view.source == MODEL,
    )
    share: float = number(
        "Teacher's share λ",
        0.0,
        1.0,
        0.5,
        "0: the student learns from the label alone, 1: from the teacher alone.",
        step=0.05,
        key="share",
        when=lambda view: view.source == MODEL,
        more=True,
    )
    data: str | None = choice(
        "Images of",
        tokens.pictures,
        "Test images of a built-in set or a folder; your uploads have no labels.",
        words=WORDS,
        key="agree_data",
        runs=True,
        more=True,
        when=lambda view: view.source == MODEL,
    )
    folder: str = folder("Folder", key="agree_folder", when=lambda view: view.data == FOLDER, runs=True, more=True)

    alone = True
    overlays = False
    how = How(
        "Each bar is a class and keeps its row and colour; ticks are the teacher's answer, or, without a teacher, that "
        "at T = 1. T above 1 takes from the first choice and gives to the others, and never changes their order. A "
        "distilled DeiT has a second token beside the class token, and a head for it that learned from a teacher "
        "alone; its prediction is the mean of both. Below: what every class adds to the divergence of that mean from"
        " the teacher, where single terms may be negative and their sum cannot, and the gradient of T² · KL, against"
        " which training goes.",
        r"p_i(T) = \frac{e^{z_i/T}}{\sum_j e^{z_j/T}}, \qquad L = (1-\lambda)\,\mathrm{CE}(p_s, y) + \lambda\, T^2\,"
        r"\mathrm{KL}\big(p_t(T) \,\|\, p_s(T)\big), \qquad \frac{\partial\,\mathrm{KL}}{\partial z_s} = "
        r"\frac{p_s(T) - p_t(T)}{T}, \qquad z = \tfrac12\,(z_{\text{cls}} + z_{\text{dist}})",
        "how the student learned: it is shown after training, without augmentation; nor why two tokens differ on this "
        "image: attention shows where a token attends, not how it uses it. DeiT · insects learned softly, at T = 3, "
        "the paper's model by hard labels. A teacher that learned with label smoothing, as CNN · insects did, has "
        "little dark knowledge.",
        "Hinton, Vinyals & Dean 2015, eq. 1 and § 2; Touvron et al. 2021, § 4, § 5.2 and eq. 3; smoothing: Müller et "
        "al. 2019; rollout: Abnar & Zuidema 2020",
    )

    def title(self, of: Subject) -> str:
        return (
            f"Teacher and student at T = {self.temperature:g}"
            if self.of_model(of)
            else at_temperature(self.temperature)
        )

    def of_model(self, of: Subject) -> bool:
        """Whether the logits are the model's own: others are typed."""
        return self.source == MODEL and of.has_model

    def leads(self, block: Block) -> bool:
        """At T = 1 nothing is softened, and of bars from 0 to 100 % those beside the first choice cannot be seen."""
        dark = self.temperature == 1 and not self.log
        return getattr(block, "alt", "") == (DARK if dark else at_temperature(self.temperature))

    def show(self, of: Subject) -> Blocks:
        asked, of = of, self.answering(of)
        names, logits = self.given(of)
        given = answers_of(of, names) if self.of_model(of) else {}
        found = self.apart(given[TEACHER].logits, logits) if TEACHER in given else {}
        classes = Classes.of(found.get("teacher", logits), names)  # in the order of the teacher, whom all are held to
        axis = Axis(log=self.log, percent=not self.log)
        few = given and not (self.every or self.staged)
        compared = {name: each for name, each in given.items() if not (few and found and name in BETWEEN)}
        said = self.said(of, compared, logits, names)
        if of is asked:
            yield Said(said)
        else:  # nobody has chosen this image, and no other place shows it
            instead = Line(f"This page asks {of.name} about “{of.image}”, for of “{asked.image}” it knows nothing.")
            yield side_by_side(Picture(of.seen_rgb, of.image), (Said(said), instead), widths=(1, 6))
        if given and not found:
            yield Line(f"{bundled.title(of.name)} had no teacher that is at hand.")
        most = FEW if few else MOST
        whose = found and not self.staged  # the teacher's; on a stage of the answer that its sentence is about
        dark = self.dark(found["teacher"] if whose else logits, names, most, " of the teacher" if whose else "")
        columns = [*self.columns(compared, found.get("teacher"), logits, names, axis, most)]
        yield from [side_by_side(*columns, dark)] if len(columns) < 4 else [side_by_side(*columns), side_by_side(dark)]
        if whose:
            yield Line("Grey ticks: the teacher’s answer.")
        elif self.temperature != 1:
            yield Line("Grey ticks: the same at T = 1.")
        if given and not of.loaded.trained:
            yield Line(f"{of.name} is untrained: its answers mean nothing.")
        if of is not asked:
            yield Link(f"Show “{of.image}” and {of.name} on all pages", self, of.image, asked.source)
        elif given and not found:
            image = of.image if of.image in INSECTS else INSTEAD
            yield Link(f"{bundled.title(STUDENT)} beside its teacher", self, image, STUDENT)
        if found:
            below = partial(self.differences, of, given, found, names, classes)
            yield Folded("What the student pays for every difference", below)
        every = Chart(
            self.by_temperature(logits, classes),
            "Probability of every class from T = 0.05 to 100, and the entropy",
            "Every temperature",
        )
        yield Folded("Every temperature", lambda: [every]) if found else every
        if CLS in given:
            yield Folded("The two tokens: where they attend, and how alike they become", partial(self.two, of))
            yield Folded("Agreement over many images", partial(tokens.agreement, asked, self.data, self.folder))
            yield Proof(of.whole())
        if given:
            yield Answered(of.loaded)  # below what the browser turns itself
        yield Numbers(
            lambda: {
                "logits": logits,
                "temperature": temperatures(),
                "probabilities": along(logits, temperatures()).exp(),
                "at_temperature": probabilities(logits, self.temperature),
                **{name: found.get(name, NOTHING) for name in TAUGHT},
                **{key: given[name].logits if name in given else NOTHING for key, name in BESIDE.items()},
                **(tokens.arrays(of) if CLS in given else dict.fromkeys(tokens.ARRAYS, NOTHING)),
            }
        )

    def answering(self, of: Subject) -> Subject:
        """On a drawn insect, where the model knows nothing else and the image is none."""
        unknown = self.of_model(of) and bundled.caveat(of.name, of.image) and set(INSECTS) & set(of.loaded.labels)
        return of.pictured(INSTEAD) if unknown else of

    def differences(
        self,
        of: Subject,
        given: Mapping[str, Answer],
        found: Mapping[str, Tensor],
        names: tuple[str, ...],
        classes: Classes,
    ) -> Blocks:
        whose, nats = MEAN if MEAN in given else of.name, self.nats(given)
        tokens = [f"{name} {remarks.in_nats(nats[name])}" for name in (DIST, CLS) if name in nats]
        apart = f" ({', '.join(tokens)})" if tokens else ""
        yield side_by_side(*pays(classes, found, whose, f"{remarks.in_nats(nats[whose])}{apart}"))
        yield from self.losses(of, found["teacher"], given[whose].logits, names, whose)

    def two(self, of: Subject) -> Blocks:
        yield Part(partial(tokens.attended, of))
        yield Part(partial(tokens.similarity, of))

    def said(self, of: Subject, given: Mapping[str, Answer], logits: Tensor, names: tuple[str, ...]) -> str:
        """On a stage, where one answer is seen alone, of that one."""
        softened_alone = remarks.softened(logits, self.temperature, names)
        if len(given) < 2 or self.staged:
            return softened_alone
        right = known_label(of, names)
        first = remarks.answered({name: names[int(each.logits.argmax())] for name, each in given.items()}, right)
        if not (nats := self.nats(given)):
            return f"{first} {softened_alone}"
        top, t = int(given[TEACHER].logits.argmax()), self.temperature
        shares = {name: float(probabilities(each.logits, t)[top]) for name, each in given.items()}
        return f"{remarks.beside_teacher([*nats.values()], t, names[top], shares, len(names))} {first}"

    def nats(self, given: Mapping[str, Answer]) -> dict[str, float]:
        """How far from the teacher's answer at T each of the others is."""
        if TEACHER not in given:
            return {}
        theirs, others = given[TEACHER].logits[None], {name: of for name, of in given.items() if name != TEACHER}
        return {name: float(kl(theirs, of.logits[None], self.temperature)[0]) for name, of in others.items()}

    def given(self, of: Subject) -> tuple[tuple[str, ...], Tensor]:
        """The names of the classes and their logits. NotApplicable where there are none."""
        if not self.of_model(of):
            with not_applicable(TypedError):
                names, logits = read(self.logits)
            return tuple(names), torch.tensor(logits, dtype=torch.float64)
        return class_names(of), of.seen.logits

    # ---- one temperature ---------------------------------------------------------------------------------------------
    def columns(
        self,
        given: Mapping[str, Answer],
        teacher: Tensor | None,
        logits: Tensor,
        names: tuple[str, ...],
        axis: Axis,
        most: int,
    ) -> Iterator[tuple[Block, ...]]:
        """All answers at T, with ticks at the teacher's or at T = 1; of one alone that at T = 1 beside it."""
        classes = Classes.of(logits if teacher is None else teacher, names, most)
        t, nats = self.temperature, self.nats(given)
        shown = [(f"T = {each:g}", logits, each, "") for each in (1.0, t)]
        if len(given) > 1:
            far = {name: f"; {remarks.in_nats(each)} from the teacher" for name, each in nats.items()}
            shown = [
                (begun(name.removeprefix("the ")), each.logits, t, f"{each.about}{far.get(name, '')}")
                for name, each in given.items()
            ]
        for heading, of, at, about in shown:
            alt = at_temperature(at) if of is logits else f"{heading}: {at_temperature(at)}"
            soft, ticks = (softened(of, each).of(classes.shown) for each in (at, 1.0))
            if teacher is not None and not self.staged:
                ticks = None if of is teacher else softened(teacher, at).of(classes.shown)
            yield Heading(heading), classes.bars(soft, alt, ticks, axis), Line(about)

    def dark(self, logits: Tensor, names: tuple[str, ...], most: int, whose: str = "") -> tuple[Block, ...]:
        """How all others share what the first choice leaves, at T; ticks at 1, where no others are the teacher's."""
        classes = Classes.of(logits, names, most)
        dark, own = dark_knowledge(logits, self.temperature), dark_knowledge(logits, 1.0)
        others = Classes(classes.shown[1:], classes.names[1:], classes.colours[1:], classes.rest)
        count = len(others.names)
        at, before = (_with_others(each.shares.tolist(), count) for each in (dark, own))
        top = 1.0 if self.temperature < 1 or self.log else min(1.0, reach(own.shares.tolist(), at[count:]))
        axis = Axis(top, log=self.log, percent=not self.log)
        left = axis.number(dark.left)
        return (
            Heading(f"Dark knowledge{whose}"),
            others.bars(at, DARK, None if whose else before, axis),
            Line(f"The first choice is left out: {left} for all others, {axis.number(own.left)} at T = 1."),
        )

    def by_temperature(self, logits: Tensor, classes: Classes) -> object:
        at = temperatures()
        log_p = along(logits, at)
        shown = log_p.exp()[:, list(classes.shown)].T.numpy()
        lines = [Curve(*each) for each in zip(classes.names, shown, classes.colours, strict=True)]
        lines.append(Curve("entropy ÷ log n", entropy_share(log_p).numpy(), OTHERS, "dash"))
        ends = (FLOOR, 1.0) if self.log else (0.0, 1.0)
        axes = ("temperature T", "probability")
        return lines_at(at.numpy(), lines, self.temperature, *axes, log_y=self.log, y_domain=ends)

    # ---- student and teacher -----------------------------------------------------------------------------------------
    def apart(self, teacher: Tensor, logits: Tensor) -> dict[str, Tensor]:
        """The teacher's logits, what each class adds to KL, and the gradient of T² · KL."""
        given = (teacher[None], logits[None], self.temperature)
        return {
            "teacher": teacher,
            "by_class": kl_by_label(*given)[0],
            "gradient": soft_gradient(*given)[0],
        }

    def losses(self, of: Subject, theirs: Tensor, own: Tensor, names: tuple[str, ...], whose: str) -> Blocks:
        """The parts of the student's loss, and how long its gradient is at every temperature."""
        t, known = self.temperature, known_label(of, names)
        label = torch.tensor([names.index(known) if known else int(theirs.argmax())])
        stands = "the label" if known else "the teacher's first choice, as the image has no known label"
        loss = losses(theirs[None], own[None], label, t, self.share)
        row = {
            "KL": loss.kl,
            "T² · KL": loss.soft,
            "CE, label": loss.label,
            "CE, teacher's choice": loss.teacher_choice,
            "soft distillation": loss.soft_distillation,
            "hard distillation": loss.hard_distillation,
        }
        yield Table(
            ({what: f"{value:.3f}" for what, value in row.items()},),
            "Parts of the student's loss",
            f"In nats, of {whose}; y is {stands}. Soft: (1 − λ) · CE + λ · T² · KL, with λ = {self.share:g} and "
            f"T = {t:g}. Hard: the teacher's first choice as a second label in place of T² · KL; with λ = ½ this is "
            "DeiT's.",
        )
        yield Heading("Why T²: the gradient at every temperature")
        yield from gradients(theirs, own, label, t)


def _with_others(shares: list[float], count: int) -> list[float]:
    """The first `count`, and all others as one."""
    return [*shares[:count], *([sum(shares[count:])] if shares[count:] else [])]


def at_temperature(t: float) -> str:
    """What bars at a temperature are called."""
    return f"Probability of every class at T = {t:g}"
