"""The loss of a student along all temperatures and shares."""

from torch import Tensor

from vizkit.analysis.distillation.loss import gradient_sizes, level_lines, shares, surface
from vizkit.analysis.distillation.temperature import temperatures
from vizkit.figure.distillation.lines_at import Line as Curve
from vizkit.figure.distillation.lines_at import lines_at
from vizkit.figure.distillation.loss_surface import loss_surface
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.views.blocks import Blocks, Chart, Line, side_by_side
from vizkit.views.distillation.answers import Answers

LOWEST = 0.5  # temperature; below, answers are nearly hard, and the losses nearly flat


def axes(answers: Answers, student: Tensor, t: float, share: float) -> Blocks:
    """What T and λ do to the gradient and to the loss, along all their values."""
    sizes = gradient_sizes(answers.teacher, student, answers.labels, temperatures(81, LOWEST))
    count = len(sizes.temperatures)
    lines = [
        Curve("T² · KL", sizes.scaled.numpy(), CLASSES[0]),
        Curve("KL", sizes.plain.numpy(), CLASSES[1]),
        Curve("cross-entropy, label", [sizes.label] * count, CLASSES[2], "dash"),
        Curve("T² · KL as T → ∞", [sizes.limit] * count, OTHERS, "dot"),
    ]
    at = sizes.temperatures.numpy()
    gradient = lines_at(at, lines, t, "temperature T", "‖∂L / ∂z‖", log_y=True)
    loss = surface(answers.teacher, student, answers.labels, shares(31), temperatures(49, LOWEST))
    levels = [(level, line.numpy()) for level, line in level_lines(loss)]
    whole = loss_surface(loss.temperatures.numpy(), loss.shares.numpy(), loss.values.numpy(), levels, (t, share))
    yield side_by_side(
        (
            Chart(gradient, "Length of the gradient by T", "Why T²: the size of the gradient"),
            Line("Without T² the teacher's gradient vanishes beside the label's as T grows."),
        ),
        (
            Chart(whole, "Loss by temperature and teacher's share", "Soft distillation over T and λ"),
            Line("White lines: equal loss. The point marks the chosen values."),
        ),
    )
