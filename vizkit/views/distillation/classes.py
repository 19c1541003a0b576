"""What views of probabilities share: temperatures, and how classes are named, ordered and coloured."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from vizkit.analysis.distillation.temperature import ranking
from vizkit.figure.class_bars import Axis, ClassBars, distinct
from vizkit.figure.palette import OTHERS, class_colours
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Bars
from vizkit.views.subject import Subject

_STEPS = "0.05 0.1 0.2 0.3 0.5 0.7 1 1.5 2 2.5 3 4 5 6 8 10 12 15 20 30 40 50 70 100"
TEMPERATURES = tuple(map(float, _STEPS.split()))
"""In steps that look even on a logarithmic axis."""
MOST = 12  # rows of bars that can still be read from the last bench


@dataclass(frozen=True)
class Classes:
    """The rows of bars: `shown` of all classes by their places, with names and colours, the first the likeliest. `rest`
    is how many there are besides."""

    shown: tuple[int, ...]
    names: tuple[str, ...]
    colours: tuple[str, ...]
    rest: int

    @classmethod
    def of(cls, logits: Tensor, names: Sequence[str], most: int = MOST) -> "Classes":
        """Those of (label,) logits, as many as fit."""
        order = ranking(logits).tolist()
        shown = order if len(order) <= most else order[: most - 2]
        short = distinct([names[int(label)].split(",")[0] for label in shown])  # of ImageNet's synonyms the first
        return cls(tuple(shown), tuple(short), tuple(class_colours(shown, len(order))), len(order) - len(shown))

    def bars(
        self,
        values: Sequence[float],
        alt: str,
        before: Sequence[float] | None = None,
        axis: Axis | None = None,
        title: str = "",
    ) -> Bars:
        """`values`: of those shown, and perhaps of all others together."""
        others = [f"{self.rest} others"] * (len(values) - len(self.names))
        names, colours = (*self.names, *others), (*self.colours, OTHERS)[: len(values)]
        return Bars(ClassBars(names, values, colours, before, axis or Axis(), title), alt)


def class_names(of: Subject) -> tuple[str, ...]:
    """How the classes of a model are called, in the order of its logits. NotApplicable without a softmax."""
    loaded = of.loaded
    if not loaded.head.exclusive:
        raise NotApplicable(
            f"{of.name} gives {loaded.head.gives}; choose a model with a softmax over classes, or type logits of your "
            "own."
        )
    return tuple(loaded.label(index) for index in range(len(of.seen.logits)))


def known_label(of: Subject, names: tuple[str, ...]) -> str:
    """The class that a sample shows, where the model knows it; "" else."""
    known = of.image.removeprefix("digit ")
    return known if known in names else ""
