"""What the numbers at the end of a model are, and all that follows from it: one record for each kind of head.

Pages, commands and analyses ask the record and go by no name. Imports nothing heavy, so lists are quick.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vizkit.percent import in_percent

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    Outputs = Float[Tensor, "*image output"]


ITSELF = -1
"""In place of the number of an output, as the target of an explanation: the whole embedding of this very image."""
ITSELF_IN_WORDS = "this image's own embedding"
LIKENESS_IN_WORDS = f"likeness to {ITSELF_IN_WORDS}"
DIRECTION_IN_WORDS = "the direction of this image's own embedding"
"""What is explained of a model without classes."""
LIKENED_IN_WORDS = "likeness of the embedding to that of the unchanged image"
"""What is left of it of a changed image."""

TINY = 1e-12  # of a length, where it is divided by
YES = 0.5
"""The probability from which on an independent label counts as an answer."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """One kind of head: its words, and its code. Everything takes what the model returns, (…, output), in any unit.

    `values`: what is shown of each output, of the same shape. `listed`: which outputs of one image are worth a line, at
    most so many, the first first. `answers`: those that the model gives as its answer. `target`: the one that is
    explained where nobody chooses, `ITSELF` where no single one means anything. `probable`: the values are
    probabilities, 0 to 1. `exclusive`: exactly one output is right, so they sum to 1 and have rivals. `quantity`: what
    a value is called; `bounded`: none is above 1, which is all of it, so that curves of them share an axis.

    `title` is the kind, as a part of a sentence; `output` what an output without a name is called; `gives` ends "this
    model gives …"; `unjudged` is why accuracy has no meaning, "" where it has one.
    """

    name: str
    title: str = ""
    output: str = ""
    gives: str = ""
    unjudged: str = ""
    values: "Callable[[Outputs], Outputs]" = None  # pyright: ignore[reportAssignmentType]  # left out: refused below
    listed: "Callable[[Tensor, int], list[int]]" = None  # pyright: ignore[reportAssignmentType]
    answers: "Callable[[Tensor], tuple[int, ...]]" = None  # pyright: ignore[reportAssignmentType]
    target: "Callable[[Tensor], int]" = None  # pyright: ignore[reportAssignmentType]
    probable: bool = False
    exclusive: bool = False
    quantity: str = "value"
    bounded: bool = False

    def __post_init__(self) -> None:
        wrong = next((said for is_wrong, said in self.faults() if is_wrong), "")
        if wrong:
            raise ValueError(f"The head {self.name!r} in vizkit/heads.py is not whole: {wrong}")

    def faults(self) -> tuple[tuple[bool, str], ...]:
        """(whether it is so, what to do about it)."""
        return (
            (not self.title, "give `title`, its kind as a part of a sentence."),
            (not self.output, "give `output`, what an output without a name is called."),
            (not self.gives, 'give `gives`, the end of "this model gives …".'),
            (not callable(self.values), "give `values`, what is shown of each output."),
            (not callable(self.listed), "give `listed`, which outputs are worth a line."),
            (not callable(self.answers), "give `answers`, which outputs are the model's answer."),
            (not callable(self.target), "give `target`, which output is explained where nobody chooses."),
            (self.exclusive and not self.probable, "`exclusive` is for probabilities, which sum to 1."),
            (
                self.exclusive == bool(self.unjudged),
                "give `unjudged`, why accuracy has no meaning, unless exactly one output is right.",
            ),
            (self.probable and not self.bounded, "`probable` values are `bounded`."),
        )

    @property
    def number(self) -> str:
        """What one of the numbers that the model returns is called: a logit where a probability is made of it."""
        return "logit" if self.probable else self.output

    def top(self, logits: "Float[Tensor, ' output']", count: int = 5) -> list[tuple[int, float]]:
        """(output, its value) of what is worth a line for one image, at most `count`."""
        values = self.values(logits)
        return [(index, float(values[index])) for index in self.listed(logits, count)]

    def lines(
        self, logits: "Float[Tensor, ' output']", label: Callable[[int], str], count: int = 5
    ) -> list[tuple[str, str]]:
        """The same for people: (name, value in its own unit)."""
        return [(label(index), self.text(value)) for index, value in self.top(logits, count)]

    def bar(self, value: float) -> float | str:
        """For a list with bars: a share of the bar, 0 to 1, or the text of a value that has none."""
        return value if self.probable else self.text(value)

    def left_out(self, model: str) -> str:
        """Why a model with this head is not evaluated."""
        return f"{model} gives {self.gives}: {self.unjudged}; it is left out."

    def text(self, value: float) -> str:
        """A value in its own unit: a per cent is for probabilities."""
        if self.probable:
            return in_percent(value)
        return f"{value:z.3f}".replace("-", "−") if self.bounded else f"{value:.4g}"


def scorer(logits: "Tensor", target: "int | Sequence[int]") -> "Callable[[Outputs], Tensor]":
    """The number that is explained, as a function of outputs, (…, output) → (…). `target`: of several images,
    (image, output), that of each.

    `logits`: of the image itself, read for `ITSELF` only. For an output that output; for `ITSELF` the length of the
    embedding along its own direction, e(x) · e₀ / |e₀|. At the image that is its length |e₀|, and its gradient that
    of the length; of a changed image it is what is left of the embedding.
    """
    if not isinstance(target, int) and ITSELF not in target:
        places = range(len(target)), [*target]
        return lambda outputs: outputs[places]
    if isinstance(target, int) and target != ITSELF:
        return lambda outputs: outputs[..., target]
    direction = logits.detach() / logits.detach().norm(dim=-1, keepdim=True).clamp(min=TINY)
    return lambda outputs: (outputs * direction).sum(-1)


def _likeliest(logits: "Tensor", count: int) -> list[int]:
    return logits.topk(min(count, len(logits))).indices.tolist()


SOFTMAX = Head(
    name="softmax",
    title="softmax over classes",
    output="class",
    gives="a probability for each class, together 1",
    values=lambda logits: logits.softmax(-1),
    listed=_likeliest,
    answers=lambda logits: (int(logits.argmax()),),
    target=lambda logits: int(logits.argmax()),
    probable=True,
    exclusive=True,
    quantity="probability",
    bounded=True,
)
SIGMOID = Head(
    name="sigmoid",
    title="independent labels, each with its own probability; 50 % or more is a yes",
    output="label",
    gives="each label its own probability, and several may be right",
    unjudged="a folder says only one label of an image, so accuracy and calibration mean nothing",
    values=lambda logits: logits.sigmoid(),
    listed=_likeliest,
    answers=lambda logits: tuple((logits.sigmoid() >= YES).nonzero().flatten().tolist()),
    target=lambda logits: int(logits.argmax()),
    probable=True,
    quantity="probability",
    bounded=True,
)
REGRESSION = Head(
    name="regression",
    title="regression: a value, no probability",
    output="value",
    gives="values, not classes",
    unjudged="a folder says a class of an image, so there is nothing to compare a value with",
    values=lambda logits: logits,
    listed=lambda logits, count: list(range(min(count, len(logits)))),  # several values may have different units
    answers=lambda logits: tuple(range(len(logits))),
    target=lambda logits: 0,
)
EMBEDDING = Head(
    name="embedding",
    title="an embedding, no classes",
    output="feature",
    gives="features, not classes",
    unjudged="there is no answer that could be right",
    values=lambda logits: logits,
    listed=lambda logits, count: [],
    answers=lambda logits: (),
    target=lambda logits: ITSELF,
    quantity="feature",
)
LIKENESS = Head(
    name="likeness",
    title="an embedding, no classes",
    output="length",
    gives="features, not classes",
    unjudged="there is no answer that could be right",
    values=lambda parts: parts / parts[..., [0, -1]].norm(dim=-1, keepdim=True).clamp(min=TINY),
    listed=lambda parts, count: [0, *(1 + other for other in _likeliest(parts[1:-1], count - 1))],
    answers=lambda parts: (0,),
    target=lambda parts: 0,
    quantity="likeness",
    bounded=True,
)
"""What a model without classes answers where it is known of which image (`loaded.likened`): the cosine of an
embedding with that image's own, which is explained, and with those of other images. Its "logits" are `parts_along`."""

HEADS = {head.name: head for head in (SOFTMAX, SIGMOID, REGRESSION, EMBEDDING)}
