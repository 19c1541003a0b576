"""Which keys a layer forbids its queries, known from what it does to its scores and not from how low a score is.

−∞ forbids, and the lowest number of the type. So does any other number that a layer fills in where a condition holds
(`masked_fill`, `where`), and one that it adds to some scores and not to others: Swin adds 0 or −100, BERT 0 or −10,000.
A position bias has many values, and is none. Additions are followed by the memory that their sums lie in.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from vizkit.models.recording.edits import EditError
from vizkit.models.recording.watching import ADDITIONS

NOTHING_LEFT = 50.0
"""What lies so far below has no weight: e⁻⁵⁰ is 2e-22."""
NO_SCORE = 1000.0
"""Scores of one layer do not lie so far apart by themselves."""
FILLING = frozenset({torch.masked_fill, Tensor.masked_fill, Tensor.masked_fill_, Tensor.__setitem__})
KEEPING = frozenset(
    {Tensor.to, Tensor.float, Tensor.double, Tensor.half, Tensor.type_as, Tensor.contiguous, Tensor.clone, torch.clone}
    | {Tensor.mul, Tensor.mul_, torch.mul, Tensor.div, Tensor.div_, torch.div}
)
"""What these do to scores changes nothing about which of them are masked."""
SUBTRACTIONS = frozenset({Tensor.sub, Tensor.sub_, torch.sub})

Part = tuple[Shaped[Tensor, "..."], bool]
"""What was added, or where something was filled in; and whether it may be the scores themselves."""


class Masks:
    """Hears what is done to tensors on the way to a softmax, and forgets it with every softmax."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Tensor, list[Part]]] = {}

    def forget(self) -> None:
        self._made.clear()

    def hear(self, func: Callable, args: tuple, out: Any) -> None:
        """`args` went into `func`, which gave `out`."""
        if func in ADDITIONS and len(args) == 2:
            left, right = args
            known = [*self._parts(left, out, True), *self._parts(right, out, False)]
        elif func in SUBTRACTIONS and len(args) == 2:  # a mask, or the largest score
            taken = [(-part, True) for part, _ in self._parts(args[1], out, True)]
            known = [*self._parts(args[0], out, True), *taken]
        elif func in FILLING and len(args) == 3 and _condition(args[1], args[0], func):
            out = args[0] if out is None else out
            known = [*self._parts(args[0], out), *([(args[1], False)] if _low(args[2]) else [])]
        elif func in (torch.where, Tensor.where) and len(args) == 3:
            condition, one, other = args if func is torch.where else (args[1], args[0], args[2])
            known = self._parts(one, out) + self._parts(other, out)
            known += [(~condition, False)] if _low(other) else [(condition, False)] if _low(one) else []
        elif func in KEEPING:
            known = self._parts(args[0], out)
        else:
            return
        if known and out.dim() > 1:
            spread = [(part.expand(out.shape), maybe) for part, maybe in known]
            self._made[_memory(out)] = out, spread  # keeping it keeps its memory from being used again

    def _parts(self, tensor: Any, out: Tensor, may_be_scores: bool | None = None) -> list[Part]:
        """What is known of a tensor, in its shape; `may_be_scores`: itself, where nothing is known and it is new."""
        if not isinstance(tensor, Tensor):
            return []
        known = self._made.get(_memory(tensor))
        if known is not None:
            laid = ((_laid(part, tensor), maybe) for part, maybe in known[1])
            return [(part, maybe) for part, maybe in laid if part is not None]
        if may_be_scores is None or _memory(tensor) == _memory(out):
            return []
        return [(tensor if tensor.is_floating_point() else tensor.float(), may_be_scores)]

    def closed(self, scores: Tensor, *, added: bool = False) -> Bool[Tensor, "..."]:
        """Where a query may not look. `added`: these are no scores but what is added to them.

        EditError where that cannot be known.
        """
        if scores.dtype == torch.bool:
            return ~scores
        closed = scores <= torch.finfo(scores.dtype).min / 2
        for part, may_be_scores in self._made.get(_memory(scores), (scores, [(scores, False)] if added else []))[1]:
            forbids = part if part.dtype == torch.bool else _by_values(part, may_be_scores)
            if bool(forbids.any()):
                if (laid := _laid(forbids, scores)) is None:
                    raise _unknown(scores)
                closed = closed | laid
        rest = scores.masked_fill(closed, torch.inf)
        if bool(scores.amax() - rest.amin() > (NOTHING_LEFT if added else NO_SCORE)):
            raise _unknown(rest)
        return closed


def _by_values(added: Tensor, may_be_scores: bool) -> Tensor:
    """Numbers of two values, 0 and one far below, are a mask."""
    closed = added <= torch.finfo(added.dtype).min / 2
    rest = added.masked_fill(closed, 0.0)
    low = rest.amin()
    if not bool(rest.amax() - low >= NOTHING_LEFT):
        return closed
    if bool(((rest == 0) | (rest == low)).all()):
        return closed | (rest == low)
    if may_be_scores:
        return closed
    raise _unknown(rest)


def _laid(part: Tensor, view: Tensor) -> Tensor | None:
    """In the shape of a view of the same memory; None where that cannot be."""
    if part.numel() == view.numel() and (view.is_contiguous() or part.shape == view.shape):
        return part.reshape(view.shape)
    return part.expand(view.shape) if view.shape[-part.dim() :] == part.shape else None


def _unknown(numbers: Tensor) -> EditError:
    return EditError(
        f"A layer of this model adds numbers down to {float(numbers.amin()):.0f} to its scores, and whether they are a "
        "mask or a bias is not known: it is not edited."
    )


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _condition(given: Any, filled: Tensor, func: Callable) -> bool:
    """Whether it says of every place whether it is filled; an index of fewer axes is laid from the first on."""
    mask = isinstance(given, Tensor) and given.dtype == torch.bool
    return mask and (func is not Tensor.__setitem__ or given.shape == filled.shape)


def _low(number: Any) -> bool:
    """Whether it is one number that leaves no weight."""
    single = isinstance(number, int | float) or (isinstance(number, Tensor) and number.numel() == 1)
    return single and float(number) <= -NOTHING_LEFT
