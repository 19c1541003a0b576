"""The pictures of the view Teacher and student: answers, losses, what each class adds, the gradient, the surface."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.pages.distillation.answers import Answers
from vizkit.ui.pages.distillation.fields import LOWEST_OF_LOSSES, MOST_CLASSES, short
from vizkit.ui.plain import plain
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid, marked, title
from vizkit.ui.widgets.chart import chart

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.distillation.loss import GradientSizes, Surface

MOST_ROWS = 40  # of the matrix of classes


def draw(found: Answers, labels: "Tensor", t: float, share: float) -> None:
    if len(labels) == 1:
        answers(found, labels, t)
    else:
        whispers(found, labels, t)
    prices(found, labels, t, share)
    student = focus(found)
    left, right = st.columns(2, gap="large")
    with left:
        by_class(found, student, t)
    with right:
        pull(found, student, t)
    left, right = st.columns(2, gap="large")
    with left:
        why_squared(found, student, labels, t)
    with right:
        whole_loss(found, student, labels, t, share)


def columns(found: Answers) -> "list[tuple[str, Tensor, str]]":
    """(heading, logits, key) of the teacher and of every student."""
    return [
        (f"Teacher: {title(found.name)}", found.teacher, "teacher"),
        *((title(s), z, s) for s, z in found.students.items()),
    ]


def focus(found: Answers) -> str:
    students = list(found.students)
    if len(students) == 1:
        return students[0]
    keep_valid("student", students)
    chosen = st.segmented_control("Student", students, default=students[0], required=True, key="student",
                                  bind="query-params", format_func=marked)  # fmt: skip
    return chosen or students[0]


def rows_of(found: Answers) -> tuple[list[int], list[str], list[str]]:
    """Classes as many as fit, and their names and colours: of one image likeliest first, the teacher says so."""
    from vizkit.analysis.distillation.temperature import ranking
    from vizkit.figure.palette import class_colours

    order = ranking(found.teacher.mean(0)).tolist()
    shown = order if len(order) <= MOST_CLASSES else order[: MOST_CLASSES - 2]
    if len(found.teacher) > 1 and len(shown) == len(order):
        shown = list(range(len(order)))
    return shown, [short(found.names[i]) for i in shown], class_colours(shown, len(order))


# ---- what they say ---------------------------------------------------------------------------------------------------
def answers(found: Answers, labels: "Tensor", t: float) -> None:
    """Soft labels and soft predictions as bars, hard ones in words; one image."""
    from vizkit.analysis.distillation.temperature import softened
    from vizkit.figure.class_bars import class_bars
    from vizkit.figure.palette import OTHERS

    shown, rows, colours = rows_of(found)
    others = [f"{len(found.names) - len(shown)} others"] if len(shown) < len(found.names) else []
    every = columns(found)
    for column, (heading, logits, key) in zip(st.columns(len(every)), every, strict=True):
        soft, hard = softened(logits[0], t), softened(logits[0], 1.0)
        first = int(logits[0].argmax())
        with column:
            st.markdown(f"#### {plain(heading)}")
            figure = class_bars(
                rows + others, soft.of(shown), [*colours, OTHERS][: len(rows + others)], before=hard.of(shown)
            )
            chart(figure, f"says_{key}", f"{heading}: probability of every class")
            mark = ":green[:material/check:]" if first == int(labels[0]) else ":red[:material/close:]"
            st.markdown(f"{mark} says **{plain(short(found.names[first]))}**, {hard.top_share:.3f} at T = 1")
    st.caption(f"Bars: soft labels of the teacher and soft predictions of the students at T = {t:g}. Ticks: at T = 1.")


def whispers(found: Answers, labels: "Tensor", t: float) -> None:
    """What each says about the pictures of every class beside that class; many pictures."""
    import numpy as np

    from vizkit.analysis.distillation.temperature import against_even
    from vizkit.figure.distillation.class_matrix import class_matrix

    if len(found.names) > MOST_ROWS:
        st.caption(f"{len(found.names)} classes are too many for a picture of every pair.")
        return
    every = columns(found)
    values = [against_even(logits, labels, t).numpy() for _, logits, _ in every]
    top = max(float(np.nanmax(each)) for each in values)
    for column, (heading, _, key), each in zip(st.columns(len(every)), every, values, strict=True):
        with column:
            st.markdown(f"#### {plain(heading)}")
            figure = class_matrix(found.names, each, top, "shows", "but may be", "times the even share")
            chart(figure, f"whispers_{key}", f"{heading}: what images of each class resemble")
    st.caption(
        f"Rows: what {len(labels):,} pictures show. Columns: what else they may be at T = {t:g}, their own class "
        "aside; 1 is as likely as any other."
    )


# ---- what it costs ---------------------------------------------------------------------------------------------------
def prices(found: Answers, labels: "Tensor", t: float, share: float) -> None:
    from vizkit.analysis.distillation.loss import losses

    st.markdown(f"#### Losses in nats{f', mean over {len(labels):,} pictures' if len(labels) > 1 else ''}")
    heads = ["", "KL", "T² · KL", "CE, label", "CE, teacher's choice", "soft distillation", "hard distillation"]
    several = len(labels) > 1
    heads += ["right", "as the teacher"] if several else []
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for source, logits in found.students.items():
        one = losses(found.teacher, logits, labels, t, share)
        cells = [one.kl, one.soft, one.label, one.teacher_choice, one.soft_distillation, one.hard_distillation]
        told = [f"**{cell:.3f}**" if place > 3 else f"{cell:.3f}" for place, cell in enumerate(cells)]
        told += [f"{one.right:.1%}", f"{one.agrees:.1%}"] if several else []
        lines.append(f"| {plain(title(source))} | " + " | ".join(told) + " |")
    st.markdown("\n".join(lines))
    st.caption(
        f"Soft: (1 − λ) · CE with the label + λ · T² · KL, with λ = {share:g} and T = {t:g}. "
        "Hard: the teacher's first choice as a second label in place of T² · KL; with λ = ½ this is DeiT's."
    )


def by_class(found: Answers, student: str, t: float) -> None:
    from vizkit.analysis.distillation.loss import kl_by_label
    from vizkit.figure.class_bars import class_bars, reach

    shown, rows, colours = rows_of(found)
    parts = kl_by_label(found.teacher, found.students[student], t).mean(0)
    st.markdown("#### What each class adds to KL")
    figure = class_bars(rows, parts[shown].tolist(), colours, signed=True, top=reach(parts.tolist()), title="nats")
    chart(figure, "by_class", "What every class adds to the divergence")
    st.caption(
        f"Together **{float(parts.sum()):.4f}** nats. Below zero: the student gives this class more than the teacher."
    )


def pull(found: Answers, student: str, t: float) -> None:
    from vizkit.analysis.distillation.loss import kl_gradient, soft_gradient
    from vizkit.figure.class_bars import class_bars, reach

    shown, rows, colours = rows_of(found)
    plain_one = kl_gradient(found.teacher, found.students[student], t).mean(0)
    scaled = soft_gradient(found.teacher, found.students[student], t).mean(0)
    st.markdown("#### Gradient on the logits")
    figure = class_bars(rows, scaled[shown].tolist(), colours, before=plain_one[shown].tolist(), signed=True,
                        top=reach(scaled.tolist(), plain_one.tolist()), title="∂L / ∂z")  # fmt: skip
    chart(figure, "pull", "Gradient of the soft loss on every logit")
    st.caption("Bars: of T² · KL. Ticks: of KL alone. Training goes against it: left raises a logit.")


# ---- the whole axes --------------------------------------------------------------------------------------------------
def why_squared(found: Answers, student: str, labels: "Tensor", t: float) -> None:
    from vizkit.figure.distillation.lines_at import Line, lines_at
    from vizkit.figure.palette import CLASSES, OTHERS

    sizes = over_axes(found, student, labels)[0]
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
    st.caption("Without T² the teacher falls silent beside the label as T grows.")


def whole_loss(found: Answers, student: str, labels: "Tensor", t: float, share: float) -> None:
    from vizkit.analysis.distillation.loss import level_lines
    from vizkit.figure.distillation.loss_surface import loss_surface

    loss = over_axes(found, student, labels)[1]
    levels = [(level, line.numpy()) for level, line in level_lines(loss)]
    st.markdown("#### Soft distillation over T and λ")
    figure = loss_surface(loss.temperatures.numpy(), loss.shares.numpy(), loss.values.numpy(), levels, (t, share))
    chart(figure, "surface", "Loss by temperature and teacher's share")
    st.caption("White lines: equal loss. The point is where the sliders stand.")


def over_axes(found: Answers, student: str, labels: "Tensor") -> "tuple[GradientSizes, Surface]":
    """What no slider changes."""
    key = (found.key, student, tuple(labels.tolist()))
    return _over_axes(key, found.teacher, found.students[student], labels)


@remembered
def _over_axes(
    key: tuple, _teacher: "Tensor", _student: "Tensor", _labels: "Tensor"
) -> "tuple[GradientSizes, Surface]":
    from vizkit.analysis.distillation.loss import gradient_sizes, shares, surface
    from vizkit.analysis.distillation.temperature import temperatures

    return (
        gradient_sizes(_teacher, _student, _labels, temperatures(81, LOWEST_OF_LOSSES)),
        surface(_teacher, _student, _labels, shares(31), temperatures(49, LOWEST_OF_LOSSES)),
    )
