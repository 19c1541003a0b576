"""Temperature: one row of logits softened, what is left beside the first choice, and the whole axis of T."""

from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.distillation.temperature import (
    along,
    dark_knowledge,
    entropy_share,
    probabilities,
    softened,
    temperatures,
)
from vizkit.analysis.remarks import distillation
from vizkit.figure.class_bars import FLOOR, Axis, reach
from vizkit.figure.distillation.lines_at import Line as Curve
from vizkit.figure.distillation.lines_at import lines_at
from vizkit.figure.palette import OTHERS
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Answered, Block, Blocks, Chart, Heading, Line, Numbers, Said, side_by_side
from vizkit.views.controls import choice, number, switch, text
from vizkit.views.distillation.classes import TEMPERATURES, Classes, class_names
from vizkit.views.distillation.typed_logits import GOLDEN, TypedError, read
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

FIXED = (1.0, 2.0, 5.0)
MODEL, TYPED = "the model", "typed logits"


class Temperature(View):
    """One prediction, softened by the temperature."""

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
        10.0,
        "Divides the logits before softmax: 1 is the model's own answer.",
        at=TEMPERATURES,
        plays=True,
        key="temperature",
    )
    log: bool = switch(
        "Log scale", "Shows what is too small for a bar: equal steps are equal factors.", key="log_scale"
    )

    alone = True
    overlays = False
    how = How(
        "Each bar is a class and keeps its colour; a column is the same answer at another temperature. T above 1 takes "
        "from the first choice and gives to the others, the likeliest first, and never changes their order. The "
        "last column is how the others share what the first choice leaves; ticks are at T = 1.",
        r"p_i(T) = \frac{e^{z_i/T}}{\sum_j e^{z_j/T}}, \qquad H = -\sum_i p_i \log p_i \in [0, \log n]",
        "whether the model is right: a temperature changes the confidence of a prediction, not the ranking of the "
        "classes.",
        "Hinton, Vinyals & Dean 2015, eq. 1",
    )

    def title(self, of: Subject) -> str:
        return f"Softmax at T = {self.temperature:g}"

    def of_model(self, of: Subject) -> bool:
        """Whether the logits are the model's own: others are typed."""
        return self.source == MODEL and of.has_model and of.loaded.head.exclusive

    def leads(self, block: Block) -> bool:
        return getattr(block, "alt", "") == at_temperature(self.temperature)

    def show(self, of: Subject) -> Blocks:
        names, logits = self.given(of)
        if self.source == MODEL and of.has_model and not of.loaded.head.exclusive:
            yield Line(f"{of.name} gives {of.loaded.head.gives}: these are the typed logits.")
        classes, axis = Classes.of(logits, names), Axis(log=self.log)
        yield Said(distillation.softened(logits, self.temperature, names))
        yield side_by_side(
            *(self.at(logits, classes, t, axis) for t in FIXED),
            self.at(logits, classes, self.temperature, axis, "yours"),
            self.dark(logits, classes),
        )
        if self.of_model(of):
            yield Answered(of.loaded)
            if not of.loaded.trained:
                yield Line(f"{of.name} is untrained: its answers mean nothing.")
        at = temperatures()
        log_p = along(logits, at)
        lines = [
            Curve(name, curve, colour)
            for name, curve, colour in zip(
                classes.names, log_p.exp()[:, list(classes.shown)].T.numpy(), classes.colours, strict=True
            )
        ]
        lines.append(Curve("entropy ÷ log n", entropy_share(log_p).numpy(), OTHERS, "dash"))
        ends = (FLOOR, 1.0) if self.log else (0.0, 1.0)
        figure = lines_at(
            at.numpy(), lines, self.temperature, "temperature T", "probability", log_y=self.log, y_domain=ends
        )
        yield Chart(figure, "Probability of every class from T = 0.05 to 100, and the entropy", "Every temperature")
        yield Numbers(partial(numbers, logits, log_p, self.temperature))

    def given(self, of: Subject) -> tuple[tuple[str, ...], Tensor]:
        """The names of the classes and their logits. NotApplicable where there are none."""
        if not self.of_model(of):
            try:
                names, logits = read(self.logits)
            except TypedError as sentence:
                raise NotApplicable(str(sentence)) from None
            return tuple(names), torch.tensor(logits, dtype=torch.float64)
        return class_names(of), of.seen.logits

    def at(self, logits: Tensor, classes: Classes, t: float, axis: Axis, whose: str = "") -> tuple[Block, ...]:
        soft = softened(logits, t)
        return (
            Heading(f"T = {t:g}{f' · {whose}' if whose else ''}"),
            classes.bars(soft.of(classes.shown), at_temperature(t), axis=axis),
            Line(f"entropy {soft.entropy_nats:.2f} of {soft.most_nats:.2f} nats"),
        )

    def dark(self, logits: Tensor, classes: Classes) -> tuple[Block, ...]:
        """How all others share what the first choice leaves, at T and at 1."""
        dark, own = dark_knowledge(logits, self.temperature), dark_knowledge(logits, 1.0)
        others = Classes(classes.shown[1:], classes.names[1:], classes.colours[1:], classes.rest)
        count = len(others.names)
        top = 1.0 if self.temperature < 1 or self.log else min(1.0, reach(own.shares.tolist()))
        before, axis = own.shares[:count].tolist(), Axis(top, log=self.log)
        return (
            Heading("Dark knowledge"),
            others.bars(
                dark.shares[:count].tolist(), "How all others share what the first choice leaves", before, axis
            ),
            Line(f"all others: {axis.number(dark.left)}, at T = 1 {axis.number(own.left)}"),
        )


def at_temperature(t: float) -> str:
    """What bars at a temperature are called."""
    return f"Probability of every class at T = {t:g}"


def numbers(logits: Tensor, log_p: Tensor, t: float) -> dict[str, np.ndarray]:
    return {
        "logits": logits.numpy(),
        "temperature": temperatures().numpy(),
        "probabilities": log_p.exp().numpy(),
        "at_temperature": probabilities(logits, t).numpy(),
    }
