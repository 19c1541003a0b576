"""Follow weights that a layer writes out from their softmax to the product in which they meet the values.

What the picture claims is that this product takes the very weights that were recorded, each row and each key where it
stands. A view, a copy or a write on the way breaks that without touching the softmax: so what is compared is what
really enters the product.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

SOFTMAXES = frozenset({torch.softmax, F.softmax, Tensor.softmax})
PRODUCTS = frozenset({torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm, torch.mm, Tensor.mm})
ADDING = frozenset({torch.addmm, Tensor.addmm, torch.baddbmm, Tensor.baddbmm})
"""Products of their second and third argument."""
MOST_STEPS, MOST_OF_EACH = 64, 4
"""After so many tensors made from the weights, and so many more from each matrix that a loop may take alone, whatever
meets the values is no matrix of them any more. They are held until then, so they must not be a whole network's."""


class Meeting(NamedTuple):
    """Weights, (…, query, key), and values, (…, key, channel), as they are multiplied. `whole`: these are all of them,
    or the last of products that took some heads or groups each; then both are those of all these products."""

    weights: Tensor
    values: Tensor
    whole: bool = True


class Path:
    """The way of some weights, (…, query, key), through the functions that a model calls."""

    def __init__(self, shape: tuple[int, ...], *given: Tensor) -> None:
        """`given`: what the model goes on with, in its own layout."""
        self._lead, self._sides = shape[:-2], shape[-2:]
        self._made = [*given]
        self._parts: list[Meeting] = []

    def met(self, func: Callable, args: tuple, kwargs: dict, out: Any) -> Meeting | None:
        """Where this call multiplies weights and values; None on the way there and for calls that have nothing to do
        with them."""
        if not any(self._knows(each) for each in _tensors((*args, *kwargs.values()))):
            return None
        if (found := self._product(func, args)) is not None:
            return self._with_others(found)
        if len(self._made) < MOST_STEPS + MOST_OF_EACH * math.prod(self._lead):
            self._made += [each for each in _tensors((out,)) if not self._knows(each)]
        return None

    def _product(self, func: Callable, args: tuple) -> Meeting | None:
        pair = None
        if func is torch.einsum:
            pair = summed(*args)
        elif func is F.linear and len(args) > 1 and args[1].dim() > 1:
            pair = (args[0], args[0]), (args[1], args[1])
        elif (both := factors(func, args)) is not None:
            pair = (both[0], both[0]), (both[1], both[1].mT)
        for one, other in (pair, pair[::-1]) if pair is not None else ():
            known = self._knows(one[0]) and not self._knows(other[0])
            if known and sorted(one[1].shape[-2:]) == sorted(self._sides):
                return Meeting(one[1], other[1].mT)
        return None

    def _with_others(self, found: Meeting) -> Meeting:
        """One head after another: with those that have met their values before."""
        count = math.prod(self._lead)
        if count in (_matrices(found.weights), _matrices(found.values)):
            return found
        self._parts.append(found)
        if sum(_matrices(part.weights) for part in self._parts) < count:
            return found._replace(whole=False)
        parts, self._parts = self._parts, []
        weights, values = [part.weights for part in parts], [part.values for part in parts]
        return Meeting(together(weights, self._lead), together(values, self._lead))

    def _knows(self, tensor: Tensor) -> bool:
        return any(tensor is made for made in self._made)


def factors(func: Callable, args: tuple) -> tuple[Tensor, Tensor] | None:
    """Both factors of a matrix product, (…, row, column), None where `func` is none."""
    pair = args[:2] if func in PRODUCTS else args[1:3] if func in ADDING else ()
    return pair if len(pair) == 2 and min(pair[0].dim(), pair[1].dim()) > 1 else None


Factor = tuple[Tensor, Tensor]
"""As it was given, and with the axis last that is summed over."""


def summed(equation: Any, *operands: Any) -> tuple[Factor, Factor] | None:
    """Both factors of an einsum that sums over one axis of both, as Q Kᵀ and A V do; None of others, and for the form
    that names its axes by numbers."""
    tensors = [*_tensors(operands)]
    if not isinstance(equation, str) or len(tensors) != 2:
        return None
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    left, right = inputs.split(",")
    if not arrow:
        output = "".join(sorted(set(left) ^ set(right)))
    shared = (set(left) & set(right)) - {*output, "."}
    if len(shared) != 1:
        return None
    (axis,) = shared
    # What "…" stands for comes first as a rule, so places are counted from the end.
    places = [term.index(axis) - len(term) for term in (left, right)]
    if any("." in term[place:] for term, place in zip((left, right), places, strict=True)):
        return None
    one, other = ((each, each.movedim(place, -1)) for each, place in zip(tensors, places, strict=True))
    return one, other


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def into(buffer: Tensor | None, out: Tensor) -> Tensor:
    """`out`, written into the `buffer` that a model gives for it."""
    if buffer is None:
        return out
    return (buffer if buffer.shape == out.shape else buffer.resize_(out.shape)).copy_(out)


def together(parts: Sequence[Tensor], lead: tuple[int, ...]) -> Tensor:
    """Some matrices after others as all of them lie, `lead` in front: taken along the second axis where there are as
    many parts as it is long, else along the first."""
    flat = [part.reshape(-1, *part.shape[-2:]) for part in parts]
    across = len(lead) > 1 and len(flat) == lead[1] and all(len(part) == lead[0] for part in flat)
    return torch.stack(flat, 1) if across else torch.cat(flat)


def _matrices(tensor: Tensor) -> int:
    return math.prod(tensor.shape[:-2])


def laid(entering: Tensor, shape: tuple[int, ...], queries: slice | list[int]) -> Tensor | None:
    """Some rows of the weights that enter a product, as those of this shape, (…, query, key), lie; None where they are
    not as many."""
    lead = shape[:-2]
    if entering.shape[-2:] != shape[-2:]:
        return None
    rows = entering.detach()[..., queries, :]
    if math.prod(entering.shape[:-2]) == math.prod(lead):
        return rows.reshape(*lead, *rows.shape[-2:])
    alike = all(mine in (1, theirs) for mine, theirs in zip(entering.shape[-3::-1], lead[::-1], strict=False))
    return rows.expand(*lead, *rows.shape[-2:]) if alike and entering.dim() <= len(shape) else None
