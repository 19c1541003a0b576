"""A flow of blocks made short: neighbours that do the same to the same shapes stand for each other."""

from dataclasses import dataclass
from itertools import groupby

from vizkit.models.probes.flow import Shape, Step

__all__ = ["Group", "changed_between", "folded", "unfolded"]


@dataclass(frozen=True)
class Group:
    """Equal blocks that follow each other. Costs and parameters are those of all of them."""

    steps: tuple[Step, ...]

    @property
    def first(self) -> Step:
        return self.steps[0]

    @property
    def multiply_adds(self) -> int:
        return sum(step.multiply_adds for step in self.steps)

    @property
    def attention_multiply_adds(self) -> int:
        return sum(step.attention_multiply_adds for step in self.steps)

    @property
    def parameters(self) -> int:
        return sum(step.parameters for step in self.steps)


def folded(steps: tuple[Step, ...]) -> tuple[Group, ...]:
    """Equal in kind, shapes, cost, parameters and calls; the paths and the weights differ."""

    def alike(step: Step) -> tuple:
        return (
            step.kind,
            step.shapes_in,
            step.shapes_out,
            step.multiply_adds,
            step.attention_multiply_adds,
            step.parameters,
            step.calls,
        )

    return tuple(Group(tuple(group)) for _, group in groupby(steps, alike))


def unfolded(steps: tuple[Step, ...]) -> tuple[Group, ...]:
    return tuple(Group((step,)) for step in steps)


def changed_between(before: Step, after: Step) -> tuple[Shape, Shape] | None:
    """(what left, what enters) where something outside of blocks happened on the way, such as a class token that was
    added or tokens that were averaged; None where one is the other. Of several tensors the last counts, as a TNT's
    patches do."""
    left, enters = before.shapes_out[-1:], after.shapes_in[-1:]
    return None if left == enters or not left or not enters else (left[0], enters[0])
