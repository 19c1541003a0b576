"""What a student pays for every difference from its teacher, and why its soft loss has the factor T²."""

from collections.abc import Iterator, Mapping

from torch import Tensor

from vizkit.analysis.distillation.loss import gradient_sizes
from vizkit.analysis.distillation.temperature import temperatures
from vizkit.figure.class_bars import Axis, reach
from vizkit.figure.distillation.lines_at import Line as Curve
from vizkit.figure.distillation.lines_at import lines_at
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.views.blocks import Block, Blocks, Chart, Heading, Line
from vizkit.views.distillation.classes import Classes

LOWEST = 0.5  # temperature of the gradient's chart; below, answers are nearly hard, and the losses nearly flat


def pays(classes: Classes, found: Mapping[str, Tensor], whose: str, total: str) -> Iterator[tuple[Block, ...]]:
    """What the student pays for every difference: a row is a class in all of them."""
    parts, steep = (found[each][list(classes.shown)].tolist() for each in ("by_class", "gradient"))
    yield (
        Heading("Adds to KL"),
        classes.bars(parts, "What every class adds to KL", None, signed(found["by_class"]), "nats"),
        Line(f"Of {whose}: together {total}. Below zero: it gives the class more than the teacher."),
    )
    yield (
        Heading("Gradient"),
        classes.bars(steep, "Gradient of the soft loss on every logit", None, signed(found["gradient"]), "∂L / ∂z"),
        Line(f"Of the T² · KL of {whose}. Training goes against it: to the left a logit rises."),
    )


def signed(values: Tensor) -> Axis:
    return Axis(reach(values.tolist()), signed=True)


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
