"""Hear what every attention layer is given in a pass in which no token hears of another.

What the heads give is taken away, so that what leaves a token's place in the end was there in the beginning: only the
linear maps, norms and MLPs of the token itself, and convolutions, have worked on it.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from vizkit.models.recording.gates import attention_axis
from vizkit.models.recording.meeting import SOFTMAXES, Path, factors, laid, summed
from vizkit.models.recording.recorder import MULTI_HEAD

SOME = slice(None, None, 16)
BLENDED = 2
"""So many maps are mixed into one before it meets the values, at most."""


class Unmixed(TorchFunctionMode):
    """Calls `asked` and `given` for every attention layer, in the order of the recorder's calls. `single_keys`: see
    `weights.softmax_axis`."""

    def __init__(self, *, single_keys: bool = False) -> None:
        super().__init__()
        self.single_keys = single_keys
        self._layers = 0
        self._product: tuple[Tensor, Tensor] | None = None  # of the latest matrix product, channels last
        self._ways: list[tuple[int, Path, Tensor]] = []

    def asked(self, layer: int, queries: Tensor | None, keys: Tensor | None) -> None:
        """(…, query, channel) and (…, key, channel), each None where it is not known."""

    def given(self, layer: int, values: Tensor) -> None:
        """(…, key, channel), as they meet the weights: only where these are still those of the softmax, so that every
        key meets the value in its own row."""

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return self._fused(*args, **kwargs)
        if func is F.multi_head_attention_forward:
            return self._multi_head(func, MULTI_HEAD.bind(*args, **kwargs).arguments)
        out = func(*args, **kwargs)
        if func in SOFTMAXES:
            self._softmax(out, args, kwargs)
        elif (pair := factors(func, args)) is not None:
            self._product = pair[0], pair[1].mT
        elif func is torch.einsum and (found := summed(*args)) is not None and _crosses(args[0]):
            self._product = found[0][1], found[1][1]
        met = [(way, found) for way in self._ways if (found := way[1].met(func, args, kwargs, out)) is not None]
        for way, (entering, values, whole) in met:
            layer, _, weights = way
            if not whole:
                continue
            self._ways = [other for other in self._ways if other is not way]
            rows = laid(entering, tuple(weights.shape), SOME)
            if rows is not None and torch.equal(rows, weights[..., SOME, :]):
                self.given(layer, values)
        return torch.zeros_like(out) if met else out

    def _next(self, queries: Tensor | None, keys: Tensor | None) -> int:
        self._layers += 1
        self.asked(self._layers - 1, queries, keys)
        return self._layers - 1

    def _fused(self, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> Tensor:
        self.given(self._next(query, key), value)
        return query.new_zeros(*query.shape[:-1], value.shape[-1])

    def _multi_head(self, func: Callable, arguments: dict) -> tuple[Tensor, Tensor | None]:
        given = (arguments[name] for name in ("query", "key", "value"))
        query, key, value = (each.transpose(0, 1) if each.dim() == 3 else each for each in given)
        self.given(self._next(query, key), value)
        out, weights = func(**arguments)
        return torch.zeros_like(out), weights

    def _softmax(self, out: Tensor, args: tuple, kwargs: dict) -> None:
        axis = attention_axis(out, args, kwargs, self.single_keys)
        if axis is None:
            return
        weights, (queries, keys) = out, self._product or (None, None)
        if axis == -2:  # the keys themselves are what is normalised
            weights, queries, keys = out.mT, None, out
        of_queries = queries is not None and queries.shape[:-1] == weights.shape[:-1]
        of_keys = keys is not None and keys.shape[-2] == weights.shape[-1]
        layer = self._next(queries if of_queries else None, keys if of_keys else None)
        self._ways = [*self._ways, (layer, Path(tuple(weights.shape), out), weights)][-BLENDED:]


def _crosses(equation: str) -> bool:
    """Whether the last two axes that come out are not both of the first factor, as they are where heads are mixed."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    return not output or not set(output[-2:]) <= set(inputs.split(",")[0])
