"""The pictures of the view Teacher and student: answers, losses, what each class adds, the gradient, the surface."""

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.analysis.distillation.loss import (
    GradientSizes,
    Surface,
    gradient_sizes,
    kl_by_label,
    kl_gradient,
    level_lines,
    losses,
    shares,
    soft_gradient,
    surface,
)
from vizkit.analysis.distillation.temperature import against_even, ranking, softened, temperatures
from vizkit.figure.class_bars import class_bars, reach
from vizkit.figure.distillation.class_matrix import class_matrix
from vizkit.figure.distillation.lines_at import Line, lines_at
from vizkit.figure.distillation.loss_surface import loss_surface
from vizkit.figure.palette import CLASSES, OTHERS, class_colours
from vizkit.ui.pages.distillation.answers import Answers
from vizkit.ui.pages.distillation.fields import LOWEST_OF_LOSSES, MOST_CLASSES, short
from vizkit.ui.plain import plain
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid, marked, title
from vizkit.ui.widgets.chart import bars, chart

MOST_ROWS = 40  # of the matrix of classes


def draw(answers: Answers, labels: Tensor, t: float, share: float) -> None:
    if len(labels) == 1:
        _answer_bars(answers, labels, t)
    else:
        _class_similarity(answers, labels, t)
    _loss_table(answers, labels, t, share)
    student = focus(answers)
    left, right = st.columns(2, gap="large")
    with left:
        by_class(answers, student, t)
    with right:
        _gradient_bars(answers, student, t)
    left, right = st.columns(2, gap="large")
    with left:
        why_squared(answers, student, labels, t)
    with right:
        _whole_loss(answers, student, labels, t, share)


def columns(answers: Answers) -> list[tuple[str, Tensor, str]]:
    """(heading, logits, key) of the teacher and of every student."""
    return [
        (f"Teacher: {title(answers.name)}", answers.teacher, "teacher"),
        *((title(s), z, s) for s, z in answers.students.items()),
    ]


def focus(answers: Answers) -> str:
    students = list(answers.students)
    if len(students) == 1:
        return students[0]
    keep_valid("student", students)
    chosen = st.segmented_control("Student", students, default=students[0], required=True, key="student",
                                  bind="query-params", format_func=marked)  # fmt: skip
    return chosen or students[0]


def rows_of(answers: Answers) -> tuple[list[int], list[str], list[str]]:
    """Classes as many as fit, and their names and colours: of one image likeliest first, the teacher says so."""
    order = ranking(answers.teacher.mean(0)).tolist()
    shown = order if len(order) <= MOST_CLASSES else order[: MOST_CLASSES - 2]
    if len(answers.teacher) > 1 and len(shown) == len(order):
        shown = list(range(len(order)))
    return shown, [short(answers.names[i]) for i in shown], class_colours(shown, len(order))


# ---- predictions ----------------------------------------------------------------------------------------------------
def _answer_bars(answers: Answers, labels: Tensor, t: float) -> None:
    """Soft labels and soft predictions as bars, hard ones in words; one image."""
    shown, rows, colours = rows_of(answers)
    others = [f"{len(answers.names) - len(shown)} others"] if len(shown) < len(answers.names) else []
    every = columns(answers)
    for column, (heading, logits, key) in zip(st.columns(len(every)), every, strict=True):
        soft, hard = softened(logits[0], t), softened(logits[0], 1.0)
        first = int(logits[0].argmax())
        with column:
            st.markdown(f"#### {plain(heading)}")
            figure = class_bars(
                rows + others, soft.of(shown), [*colours, OTHERS][: len(rows + others)], before=hard.of(shown)
            )
            bars(figure, f"says_{key}", f"{heading}: probability of every class")
            mark = ":green[:material/check:]" if first == int(labels[0]) else ":red[:material/close:]"
            st.markdown(f"{mark} predicts **{plain(short(answers.names[first]))}**, {hard.top_share:.3f} at T = 1")
    st.caption(f"Bars: soft labels of the teacher and soft predictions of the students at T = {t:g}. Ticks: at T = 1.")


def _class_similarity(answers: Answers, labels: Tensor, t: float) -> None:
    """What each says about the pictures of every class beside that class; many pictures."""
    if len(answers.names) > MOST_ROWS:
        st.caption(f"{len(answers.names)} classes are too many for a picture of every pair.")
        return
    every = columns(answers)
    values = [against_even(logits, labels, t).numpy() for _, logits, _ in every]
    top = max(float(np.nanmax(matrix)) for matrix in values)
    for column, (heading, _, key), matrix in zip(st.columns(len(every)), every, values, strict=True):
        with column:
            st.markdown(f"#### {plain(heading)}")
            figure = class_matrix(answers.names, matrix, top, "label", "other class", "times the even share")
            chart(figure, f"whispers_{key}", f"{heading}: what images of each class resemble")
    st.caption(
        f"Rows: the labels of {len(labels):,} pictures. Columns: the probability of every other class at T = {t:g}, "
        "relative to an even share; 1 is as likely as any other."
    )


# ---- what it costs ---------------------------------------------------------------------------------------------------
def _loss_table(answers: Answers, labels: Tensor, t: float, share: float) -> None:
    st.markdown(f"#### Losses in nats{f', mean over {len(labels):,} pictures' if len(labels) > 1 else ''}")
    heads = ["", "KL", "T² · KL", "CE, label", "CE, teacher's choice", "soft distillation", "hard distillation"]
    several = len(labels) > 1
    heads += ["right", "as the teacher"] if several else []
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for source, logits in answers.students.items():
        loss = losses(answers.teacher, logits, labels, t, share)
        cells = [loss.kl, loss.soft, loss.label, loss.teacher_choice, loss.soft_distillation, loss.hard_distillation]
        numbers = [f"**{cell:.3f}**" if place > 3 else f"{cell:.3f}" for place, cell in enumerate(cells)]
        numbers += [f"{loss.right:.1%}", f"{loss.agrees:.1%}"] if several else []
        lines.append(f"| {plain(title(source))} | " + " | ".join(numbers) + " |")
    st.markdown("\n".join(lines))
    st.caption(
        f"Soft: (1 − λ) · CE with the label + λ · T² · KL, with λ = {share:g} and T = {t:g}. "
        "Hard: the teacher's first choice as a second label in place of T² · KL; with λ = ½ this is DeiT's."
    )


def by_class(answers: Answers, student: str, t: float) -> None:
    shown, rows, colours = rows_of(answers)
    parts = kl_by_label(answers.teacher, answers.students[student], t).mean(0)
    st.markdown("#### What each class adds to KL")
    figure = class_bars(rows, parts[shown].tolist(), colours, signed=True, top=reach(parts.tolist()), title="nats")
    bars(figure, "by_class", "What every class adds to the divergence")
    st.caption(
        f"Together **{float(parts.sum()):.4f}** nats. Below zero: the student gives this class more than the teacher."
    )


def _gradient_bars(answers: Answers, student: str, t: float) -> None:
    shown, rows, colours = rows_of(answers)
    unscaled = kl_gradient(answers.teacher, answers.students[student], t).mean(0)
    scaled = soft_gradient(answers.teacher, answers.students[student], t).mean(0)
    st.markdown("#### Gradient on the logits")
    figure = class_bars(rows, scaled[shown].tolist(), colours, before=unscaled[shown].tolist(), signed=True,
                        top=reach(scaled.tolist(), unscaled.tolist()), title="∂L / ∂z")  # fmt: skip
    bars(figure, "pull", "Gradient of the soft loss on every logit")
    st.caption("Bars: of T² · KL. Ticks: of KL alone. Training goes against it: a bar to the left raises a logit.")


# ---- the whole axes --------------------------------------------------------------------------------------------------
def why_squared(answers: Answers, student: str, labels: Tensor, t: float) -> None:
    sizes = _along_axes(answers, student, labels)[0]
    count = len(sizes.temperatures)
    lines = [
        Line("T² · KL", sizes.scaled.numpy(), CLASSES[0]),
        Line("KL", sizes.plain.numpy(), CLASSES[1]),
        Line("cross-entropy, label", [sizes.label] * count, CLASSES[2], "dash"),
        Line("T² · KL as T → ∞", [sizes.limit] * count, OTHERS, "dot"),
    ]
    st.markdown("#### Why T²: the size of the gradient")
    figure = lines_at(sizes.temperatures.numpy(), lines, t, "temperature T", "‖∂L / ∂z‖", log_y=True)
    chart(figure, "why_squared", "Length of the gradient over temperature, with and without T²")
    st.caption("Without T² the teacher's gradient vanishes beside the label's as T grows.")


def _whole_loss(answers: Answers, student: str, labels: Tensor, t: float, share: float) -> None:
    loss = _along_axes(answers, student, labels)[1]
    levels = [(level, line.numpy()) for level, line in level_lines(loss)]
    st.markdown("#### Soft distillation over T and λ")
    figure = loss_surface(loss.temperatures.numpy(), loss.shares.numpy(), loss.values.numpy(), levels, (t, share))
    chart(figure, "surface", "Loss by temperature and teacher's share")
    st.caption("White lines: equal loss. The point marks the values of the sliders.")


def _along_axes(answers: Answers, student: str, labels: Tensor) -> tuple[GradientSizes, Surface]:
    """What no slider changes."""
    key = (answers.key, student, tuple(labels.tolist()))
    return _over_axes(key, answers.teacher, answers.students[student], labels)


@remembered
def _over_axes(key: tuple, _teacher: Tensor, _student: Tensor, _labels: Tensor) -> tuple[GradientSizes, Surface]:
    return (
        gradient_sizes(_teacher, _student, _labels, temperatures(81, LOWEST_OF_LOSSES)),
        surface(_teacher, _student, _labels, shares(31), temperatures(49, LOWEST_OF_LOSSES)),
    )
