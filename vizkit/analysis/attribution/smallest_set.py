"""The smallest set of parts that keeps an answer, or whose loss flips it: greedy, one part after another.

Greedy takes what helps most at every step and never takes it back, so a set it gives is small, not proven smallest: two
parts that help only together are passed by. Exact search would try every subset. For patches the idea is that of
"sufficient input subsets" (Carter et al. 2019, arXiv 1810.03805) and of counterfactual regions (Goyal et al. 2019).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Goal = Literal["keep", "flip"]
Answers = Callable[[Bool[Tensor, "case part"]], Float[Tensor, "case value"]]
"""Which parts are there, in many cases → of each case how far the answer's logit lies above the next (below 0: it is no
longer the answer), its probability, and what all outputs have."""


@dataclass(frozen=True)
class Search:
    """`order`: the parts as they were taken. `probability`: the answer's with none of them, with the first, with
    the first two …, one more than `order`; `outputs`: what all outputs had. `reached`: whether the goal was; `passes`:
    cases that the model answered."""

    goal: Goal
    order: tuple[int, ...]
    probability: tuple[float, ...]
    reached: bool
    parts: int
    passes: int
    outputs: tuple[tuple[float, ...], ...] = ()


def search(
    answers: Answers,
    parts: int,
    goal: Goal,
    most: int | None = None,
    tell: Callable[[Search], None] = lambda _: None,
) -> Search:
    """Take parts until the answer is there ("keep": from none of them on) or gone ("flip": from all of them on).

    `most`: parts at the most. `tell` hears what there is after every part and may raise to stop.
    """
    there = torch.full((parts,), goal == "flip")
    margin, probability, *rest = answers(there[None])[0].tolist()
    order, curve, outputs, passes = list[int](), [probability], [tuple(rest)], 1
    sign = 1 if goal == "keep" else -1

    def so_far() -> Search:
        return Search(goal, tuple(order), tuple(curve), sign * margin > 0, parts, passes, tuple(outputs))

    while sign * margin <= 0 and len(order) < (parts if most is None else min(most, parts)):
        left = [part for part in range(parts) if part not in order]
        cases = there.repeat(len(left), 1)
        cases[range(len(left)), left] ^= True
        values = answers(cases)
        passes += len(left)
        best = int((sign * values[:, 0]).argmax())
        there = cases[best]
        order.append(left[best])
        margin, probability, *rest = values[best].tolist()
        curve.append(probability)
        outputs.append(tuple(rest))
        tell(so_far())
    return so_far()
