"""How many attention layers a pass has, counted below the recording and without it.

The recording knows functions that a model calls by name. Here every tensor operation of a plain pass is watched where
PyTorch dispatches it, so a softmax that is written out, has another name or comes from compiled code counts too. What
is looked for is attention itself (Vaswani et al. 2017, eq. 1): a matrix of scores, made positive, that multiplies
values. What is weighed without a matrix product counts only where it is a softmax.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from vizkit.models.recording.weights import softmax_axis

PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}
"""Matrix products, and where their first factor stands."""

FORGETTING = frozenset(
    {"native_layer_norm", "native_batch_norm", "native_group_norm", "cudnn_batch_norm", "miopen_batch_norm"}
    | {"sum", "mean", "amax", "max", "amin", "min", "argmax", "var", "var_mean", "linalg_vector_norm"}
)
"""What comes out of these is no matrix of scores any more."""

EXPONENTIALS = frozenset({"exp", "exp2", "_log_softmax"})
POSITIVE = EXPONENTIALS | {"relu", "clamp", "clamp_min", "sigmoid", "pow", "softplus", "elu", "gelu", "silu", "abs"}


@dataclass(frozen=True)
class Scores:
    """A matrix product on its way: `shape` (…, query, key) as it was made, `both`: both factors come from the image,
    `positive` and `exponential`: what was done to it since. `weights`: the values of a softmax."""

    product: int
    shape: tuple[int, ...] = ()
    both: bool = False
    positive: bool = False
    exponential: bool = False
    weights: bool = False

    def after(self, name: str) -> "Scores":
        positive, exponential = self.positive or name in POSITIVE, self.exponential or name in EXPONENTIALS
        return replace(self, positive=positive, exponential=exponential)

    def lie_in(self, factor: Tensor) -> bool:
        return sorted(factor.shape[-2:]) == sorted(self.shape[-2:])


class Counting(TorchDispatchMode):
    """Counts the attention layers of the pass of `pixels` that is made inside `with Counting(pixels) as seen:`.

    `layers`: how many, None where something ran that cannot be looked into. `linear`: products that are multiplied
    without becoming positive, as Q (Kᵀ V): attention without a softmax. `bytes`: what the weights of all called
    attention take that a recording keeps, in float32 at least.
    """

    supports_higher_order_operators = True

    def __init__(self, pixels: Tensor) -> None:
        super().__init__()
        self.unknown, self.called, self.bytes = False, 0, 0
        self.written: set[int] = set()
        self.straight: set[int] = set()
        self._products = 0
        # Of every tensor that depends on the image.
        self._scores: MutableMapping[Tensor, tuple[Scores, ...]] = WeakTensorKeyDictionary({pixels: ()})

    @property
    def layers(self) -> int | None:
        return None if self.unknown else self.called + len(self.written)

    @property
    def linear(self) -> int:
        return len(self.straight - self.written)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if not isinstance(func, torch._ops.OpOverload):
            self.unknown = True  # torch's own branches and loops, attention made by flex_attention
            return out
        name = func._schema.name.partition("::")[2].rstrip("_")
        outputs = [each for each in tree_leaves(out) if isinstance(each, Tensor)]
        inputs = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        weights = self._called(name, args, inputs, outputs)
        if any(each in self._scores for each in inputs):
            scores = (Scores(-1, weights=True),) if weights else self._scores_after(name, args, inputs, outputs)
            for each in outputs:
                self._scores[each] = scores
        return out

    def _called(self, name: str, args: tuple, inputs: list[Tensor], outputs: list[Tensor]) -> bool:
        """Whether this is a softmax over keys; a whole layer in one operation counts as well."""
        if "attention" in name:
            query, key = inputs[:2]
            heads = args[4] if name == "_native_multi_head_attention" else 1
            self.called += 1
            self.bytes += heads * prod(query.shape[:-1]) * key.shape[-2] * max(4, query.element_size())
        elif name == "_safe_softmax" or (name == "_softmax" and softmax_axis(outputs[0], args, {}) is not None):
            self.called += 1
            self.bytes += outputs[0].numel() * max(4, outputs[0].element_size())
            return True
        return False

    def _scores_after(self, name: str, args: tuple, inputs: list[Tensor], outputs: list[Tensor]) -> tuple[Scores, ...]:
        if name in PRODUCTS:
            first = PRODUCTS[name]
            return self._product(args[first], args[first + 1], outputs[0])
        if name in FORGETTING or name == "_softmax" or "attention" in name:
            return ()
        if name == "convolution":
            among_heads = tuple(each for each in self._scores.get(args[0], ()) if each.lie_in(outputs[0]))
            return among_heads or (self._new(outputs[0], both=False),)
        held = (each.after(name) for tensor in inputs for each in self._scores.get(tensor, ()))
        return tuple(dict.fromkeys(held))

    def _product(self, left: Tensor, right: Tensor, output: Tensor) -> tuple[Scores, ...]:
        """The scores that a product makes: none where it multiplies values with weights."""
        both = left in self._scores and right in self._scores
        factors = [(each, factor) for factor in (left, right) for each in self._scores.get(factor, ())]
        if both:
            lying = {each for each, factor in factors if each.both and each.lie_in(factor)}
            written = {each for each, _ in factors if each.exponential or (each in lying and each.positive)}
            self.written |= {each.product for each in written}
            self.straight |= {each.product for each in lying - written}
            return () if lying | written or any(each.weights for each, _ in factors) else (self._new(output, both),)
        among_heads = (each for each, factor in factors if each.both and factor.shape[-1] == prod(each.shape[:-2]))
        return tuple(among_heads) or (self._new(output, both),)

    def _new(self, output: Tensor, both: bool) -> Scores:
        self._products += 1
        return Scores(self._products, tuple(output.shape), both)
