"""Temperature: an answer softened, what is left beside the first choice, and what a student pays for every difference
from the teacher that it had."""

from functools import partial
from typing import Literal

import torch
from torch import Tensor

from vizkit.analysis.distillation.loss import (
    gradient_sizes,
    kl_by_label,
    kl_gradient,
    losses,
    same_labels,
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
from vizkit.figure.class_bars import FLOOR, Axis, reach
from vizkit.figure.distillation.lines_at import Line as Curve
from vizkit.figure.distillation.lines_at import lines_at
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.blocks import (
    Answered,
    Block,
    Blocks,
    Chart,
    Folded,
    Heading,
    Line,
    Numbers,
    Said,
    Table,
    side_by_side,
)
from vizkit.views.controls import choice, number, switch, text
from vizkit.views.distillation.classes import TEMPERATURES, Classes, class_names
from vizkit.views.distillation.labelled import own_teacher
from vizkit.views.distillation.typed_logits import GOLDEN, TypedError, read
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MODEL, TYPED = "the model", "typed logits"
DARK = "How all others share what the first choice leaves"
LOWEST = 0.5  # temperature of the gradient's chart; below, answers are nearly hard, and the losses nearly flat
TAUGHT = ("teacher", "by_class", "gradient_of_kl", "gradient")  # the numbers of a student beside its teacher


class Temperature(View):
    """One answer, softened by the temperature, and the loss of a student that answers otherwise than its teacher."""

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

    alone = True
    overlays = False
    how = How(
        "Each bar is a class and keeps its row and colour; ticks are at T = 1. T above 1 takes from the first choice "
        "and gives to the others, and never changes their order. Of a model that was distilled its own teacher stands "
        "below, on the same image: what every class adds to the divergence, where single terms may be negative and "
        "their sum cannot, and the gradient of T² · KL, against which training goes (ticks: of KL alone).",
        r"p_i(T) = \frac{e^{z_i/T}}{\sum_j e^{z_j/T}}, \qquad L = (1-\lambda)\,\mathrm{CE}(p_s, y) + \lambda\, T^2\,"
        r"\mathrm{KL}\big(p_t(T) \,\|\, p_s(T)\big), \qquad \frac{\partial\,\mathrm{KL}}{\partial z_s} = "
        r"\frac{p_s(T) - p_t(T)}{T}",
        "whether the model is right, which no temperature changes; nor how the student learned: it is shown after "
        "training, without augmentation, a DeiT as the mean of its two heads, which have a part of the loss each. A "
        "teacher that learned with label smoothing, as CNN · insects did, has little dark knowledge.",
        "Hinton, Vinyals & Dean 2015, eq. 1 and § 2; hard labels: Touvron et al. 2021, eq. 3; smoothing: Müller et al. "
        "2019",
    )

    def title(self, of: Subject) -> str:
        return f"Softmax at T = {self.temperature:g}"

    def of_model(self, of: Subject) -> bool:
        """Whether the logits are the model's own: others are typed."""
        return self.source == MODEL and of.has_model and of.loaded.head.exclusive

    def leads(self, block: Block) -> bool:
        """At T = 1 nothing is softened, and of bars from 0 to 100 % those beside the first choice cannot be seen."""
        dark = self.temperature == 1 and not self.log
        return getattr(block, "alt", "") == (DARK if dark else at_temperature(self.temperature))

    def show(self, of: Subject) -> Blocks:
        names, logits = self.given(of)
        if self.source == MODEL and of.has_model and not of.loaded.head.exclusive:
            yield Line(f"{of.name} gives {of.loaded.head.gives}: these are the typed logits.")
        classes, axis = Classes.of(logits, names), Axis(log=self.log, percent=not self.log)
        found: dict[str, Tensor] = {}
        yield Said(remarks.softened(logits, self.temperature, names))
        yield side_by_side(
            self.at(logits, classes, 1.0, axis),
            self.at(logits, classes, self.temperature, axis),
            self.dark(logits, classes),
        )
        if self.of_model(of):
            if teacher := own_teacher(of):
                found = self.apart(of, teacher, logits, names)
                yield from self.taught(of, teacher, classes, axis, found)
            else:
                yield Line(
                    f"{bundled.title(of.name)} had no teacher that is at hand. Of a student, such as DeiT · insects, "
                    "its own teacher is shown here, with what the student pays for every difference."
                )
            yield Answered(of.loaded)  # below what the browser turns itself
            if not of.loaded.trained:
                yield Line(f"{of.name} is untrained: its answers mean nothing.")
        yield Chart(
            self.by_temperature(logits, classes),
            "Probability of every class from T = 0.05 to 100, and the entropy",
            "Every temperature",
        )
        yield Numbers(
            lambda: {
                "logits": logits,
                "temperature": temperatures(),
                "probabilities": along(logits, temperatures()).exp(),
                "at_temperature": probabilities(logits, self.temperature),
                **{name: found.get(name, torch.zeros(0)) for name in TAUGHT},
            }
        )

    def given(self, of: Subject) -> tuple[tuple[str, ...], Tensor]:
        """The names of the classes and their logits. NotApplicable where there are none."""
        if not self.of_model(of):
            try:
                names, logits = read(self.logits)
            except TypedError as sentence:
                raise NotApplicable(str(sentence)) from None
            return tuple(names), torch.tensor(logits, dtype=torch.float64)
        return class_names(of), of.seen.logits

    # ---- one answer --------------------------------------------------------------------------------------------------
    def at(self, logits: Tensor, classes: Classes, t: float, axis: Axis) -> tuple[Block, ...]:
        soft = softened(logits, t)
        return (
            Heading(f"T = {t:g}"),
            classes.bars(soft.of(classes.shown), at_temperature(t), axis=axis),
            Line(f"entropy {soft.entropy_nats:.2f} of {soft.most_nats:.2f} nats"),
        )

    def dark(self, logits: Tensor, classes: Classes) -> tuple[Block, ...]:
        """How all others share what the first choice leaves, at T and at 1."""
        dark, own = dark_knowledge(logits, self.temperature), dark_knowledge(logits, 1.0)
        others = Classes(classes.shown[1:], classes.names[1:], classes.colours[1:], classes.rest)
        count = len(others.names)
        top = 1.0 if self.temperature < 1 or self.log else min(1.0, reach(own.shares.tolist()))
        before, axis = own.shares[:count].tolist(), Axis(top, log=self.log, percent=not self.log)
        return (
            Heading("Dark knowledge"),
            others.bars(dark.shares[:count].tolist(), DARK, before, axis),
            Line(f"all others together {axis.number(dark.left)}, at T = 1 {axis.number(own.left)}"),
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
    def apart(self, of: Subject, teacher: Subject, logits: Tensor, names: tuple[str, ...]) -> dict[str, Tensor]:
        """The teacher's logits in the student's order of classes, what each class adds to KL, and both gradients."""
        order = same_labels(names, class_names(teacher), (of.name, teacher.name))
        theirs = teacher.seen.logits[order]
        given = (theirs[None], logits[None], self.temperature)
        return {
            "teacher": theirs,
            "by_class": kl_by_label(*given)[0],
            "gradient_of_kl": kl_gradient(*given)[0],
            "gradient": soft_gradient(*given)[0],
        }

    def taught(self, of: Subject, teacher: Subject, classes: Classes, axis: Axis, found: dict[str, Tensor]) -> Blocks:
        """The teacher's answer, and the loss for every difference: a row is a class in all of them."""
        t, theirs, own = self.temperature, found["teacher"], of.seen.logits
        names, called = class_names(of), (bundled.title(of.name), bundled.title(teacher.name))
        soft, hard = (softened(theirs, each).of(classes.shown) for each in (t, 1.0))
        parts, plain, scaled = (found[each][list(classes.shown)].tolist() for each in (*found,)[1:])
        wide, steep = Axis(reach(found["by_class"].tolist()), signed=True), Axis(reach(plain, scaled), signed=True)
        yield Said(remarks.taught(called, theirs, own, t, names))
        yield side_by_side(
            (
                Heading(f"Its teacher at T = {t:g}"),
                classes.bars(soft, f"The teacher: probability of every class at T = {t:g}", hard, axis),
                Line(f"{called[1]}, on the same image"),
            ),
            (
                Heading("Adds to KL"),
                classes.bars(parts, "What every class adds to KL", None, wide, "nats"),
                Line("Below zero: the student gives the class more than the teacher."),
            ),
            (
                Heading("Gradient"),
                classes.bars(scaled, "Gradient of the soft loss on every logit", plain, steep, "∂L / ∂z"),
                Line("Training goes against it: to the left a logit rises."),
            ),
        )
        known = of.image.removeprefix("digit ")
        label = torch.tensor([names.index(known) if known in names else int(theirs.argmax())])
        stands = "the label" if known in names else "the teacher's first choice, as the image has no known label"
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
            f"In nats; y is {stands}. Soft: (1 − λ) · CE + λ · T² · KL, with λ = {self.share:g} and T = {t:g}. Hard: "
            "the teacher's first choice as a second label in place of T² · KL; with λ = ½ this is DeiT's.",
        )
        yield Folded("Why T²: the gradient at every temperature", partial(gradients, theirs, own, label, t))


def gradients(teacher: Tensor, student: Tensor, label: Tensor, t: float) -> Blocks:
    sizes = gradient_sizes(teacher[None], student[None], label, temperatures(81, LOWEST))
    count = len(sizes.temperatures)
    lines = [
        Curve("T² · KL", sizes.scaled.numpy(), CLASSES[0]),
        Curve("KL", sizes.plain.numpy(), CLASSES[1]),
        Curve("cross-entropy, label", [sizes.label] * count, CLASSES[2], "dash"),
        Curve("T² · KL as T → ∞", [sizes.limit] * count, OTHERS, "dot"),
    ]
    figure = lines_at(sizes.temperatures.numpy(), lines, max(t, LOWEST), "temperature T", "‖∂L / ∂z‖", log_y=True)
    yield Chart(figure, "Length of the gradient by T")
    yield Line("Without T² the teacher's gradient vanishes beside the label's as T grows.")


def at_temperature(t: float) -> str:
    """What bars at a temperature are called."""
    return f"Probability of every class at T = {t:g}"
