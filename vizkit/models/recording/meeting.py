"""Follow weights that a layer writes out from their softmax to the product in which they meet the values.

What the picture claims is that this product takes the very weights that were recorded, each row and each key where it
stands. A view, a copy or a write on the way breaks that without touching the softmax: so what is compared is what
really enters the product.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

__all__ = ["PRODUCTS", "SOFTMAXES", "Path", "factors", "into", "laid", "summed"]

SOFTMAXES = frozenset({torch.softmax, torch.nn.functional.softmax, Tensor.softmax})
PRODUCTS = frozenset({torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm})
MOST_STEPS = 64
"""After so many tensors made from the weights, whatever meets the values is no matrix of them any more."""


class Path:
    """The way of some weights, (…, query, key), through the functions that a model calls."""

    def __init__(self, shape: tuple[int, ...], *given: Tensor) -> None:
        """`given`: what the model goes on with, in its own layout."""
        self._sides = shape[-2:]
        self._made = [*given]

    def met(self, func: Callable, args: tuple, kwargs: dict, out: Any) -> tuple[Tensor, Tensor] | None:  # noqa: ANN401
        """(weights (…, query, key), values (…, key, channel)) where this call multiplies them, None on the way there
        and for calls that have nothing to do with them."""
        if not any(self._knows(each) for each in _tensors((*args, *kwargs.values()))):
            return None
        left, right = factors(func, args) or (None, None)
        if left is not None and right is not None and self._knows(left) != self._knows(right):
            weights, values = (left, right) if self._knows(left) else (right.mT, left.mT)
            if sorted(weights.shape[-2:]) == sorted(self._sides):
                return weights, values
        if func is torch.einsum and (found := summed(*args)) is not None:
            for one, other in (found, found[::-1]):
                if self._knows(one[0]) and sorted(one[1].shape[-2:]) == sorted(self._sides):
                    return one[1], other[1].mT
        if len(self._made) < MOST_STEPS:
            self._made += [each for each in _tensors((out,)) if not self._knows(each)]
        return None

    def _knows(self, tensor: Tensor) -> bool:
        return any(tensor is made for made in self._made)


def factors(func: Callable, args: tuple) -> tuple[Tensor, Tensor] | None:
    """Both factors of a matrix product, (…, row, column), None where `func` is none."""
    if func not in PRODUCTS or len(args) < 2 or min(args[0].dim(), args[1].dim()) < 2:
        return None
    return args[0], args[1]


Factor = tuple[Tensor, Tensor]
"""As it was given, and with the axis last that is summed over."""


def summed(equation: Any, *operands: Any) -> tuple[Factor, Factor] | None:  # noqa: ANN401
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
