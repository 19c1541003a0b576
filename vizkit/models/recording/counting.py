"""How many attention layers a pass has, counted below the recording and without it.

The recording knows functions that a model calls by name. Here every tensor operation of a plain pass is watched where
PyTorch dispatches it, so a softmax that is written out, has another name or comes from compiled code counts too. What
is looked for is attention itself (Vaswani et al. 2017, eq. 1): a matrix of scores, made positive, that multiplies
values. What is weighed without a matrix product counts only where it is a softmax.
"""

import sys
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from vizkit.models.recording.gates import Site, site
from vizkit.models.recording.weights import softmax_axis

PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}
"""Matrix products, and where their first factor stands."""

BY_NUMBER = frozenset({"mul", "addcmul"})

FORGETTING = frozenset(
    {"native_layer_norm", "native_batch_norm", "native_group_norm", "cudnn_batch_norm", "miopen_batch_norm"}
    | {"sum", "mean", "amax", "max", "amin", "min", "argmax", "var", "var_mean", "linalg_vector_norm"}
)
"""What comes out of these is no matrix of scores any more."""

SAME_NUMBERS = frozenset(
    {"view", "_unsafe_view", "_reshape_alias", "permute", "transpose", "t", "expand", "squeeze", "unsqueeze", "alias"}
    | {"clone", "_to_copy", "detach", "slice", "select", "split", "split_with_sizes", "unbind", "as_strided", "dropout"}
)
"""What these give are the numbers that they take, elsewhere or rounded."""

WHOLE_LAYER = "_transformer_encoder_layer_fwd"
"""What `nn.TransformerEncoderLayer` becomes where no gradient is asked for: (tokens, width, heads, …)."""

SOFTMAXES = ("_softmax", "softmax")
"""The second is that of `torch.softmax(…, out=…)`."""

DECISIONS = frozenset(
    {
        "_local_scalar_dense",
        "is_nonzero",
        "equal",
        "sign",
        "sgn",
        "heaviside",
        "round",
        "floor",
        "ceil",
        "trunc",
        "frac",
    }
    | {"fmod", "remainder", "floor_divide"}
)
"""Besides what makes whole numbers or truth values: here a small change of the picture may make a large one."""

WITH_PLACES = frozenset({"max", "min", "max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d"})
"""These give also where their numbers stood, for whoever wants to know."""

EXPONENTIALS = frozenset({"exp", "exp2", "_log_softmax"})
POSITIVE = EXPONENTIALS | {"relu", "clamp", "clamp_min", "sigmoid", "pow", "softplus", "elu", "gelu", "silu", "abs"}


@dataclass(frozen=True)
class Scores:
    """A matrix product on its way: `shape` (…, query, key) as it was made, `both`: both factors come from the image,
    `positive` and `exponential`: what was done to it since. `weights`: the values of a softmax, `changed` since;
    `asked`: of such a product."""

    product: int
    shape: tuple[int, ...] = ()
    both: bool = False
    positive: bool = False
    exponential: bool = False
    weights: bool = False
    asked: bool = False
    changed: bool = False

    def after(self, name: str) -> "Scores":
        positive, exponential = self.positive or name in POSITIVE, self.exponential or name in EXPONENTIALS
        changed = self.changed or name not in SAME_NUMBERS
        return replace(self, positive=positive, exponential=exponential, changed=changed)

    def lie_in(self, factor: Tensor) -> bool:
        return sorted(factor.shape[-2:]) == sorted(self.shape[-2:])

    def mix(self, factor: Tensor) -> bool:
        """Whether these weights multiply values here that all queries share: of experts each token has its own
        answers. With some of the keys left out they are weights too."""
        cut = self.shape[-2] in factor.shape[-2:] and prod(factor.shape[:-2]) <= prod(self.shape[:-2])
        return self.asked or self.lie_in(factor) or (cut and not self.changed)

    def mix_by_number(self, factor: Tensor, other: Tensor) -> bool:
        """The same of a product without a sum: values have no axis of queries."""
        theirs = (1,) * (factor.dim() - other.dim()) + tuple(other.shape)
        shared = {mine for mine, one in zip(factor.shape[::-1], theirs[::-1], strict=False) if one < mine}
        query, key = self.shape[-2:]
        return self.asked or (query in shared and (query == key or key not in shared))


class Counting(TorchDispatchMode):
    """Counts the attention layers of the pass of `pixels` that is made inside `with Counting(pixels) as seen:`. A pass
    may have several inputs, such as two texts; `single_keys`: see `softmax_axis`.

    `layers`: how many, None where something ran that cannot be looked into. `linear`: products that are multiplied
    without becoming positive, as Q (Kᵀ V): attention without a softmax. `bytes`: what the weights of all called
    attention take that a recording keeps, in float32 at least. `changed`: softmaxes whose weights never multiply values
    as they are. Those whose weights mix nothing are no attention (`gates`); they are known when the pass has ended.
    `decides`: whether something is decided by the image, such as which token comes first, which are left out, whether
    it is turned: where a token lies in one picture is then no proof of where it lies in another.
    """

    supports_higher_order_operators = True

    def __init__(self, *inputs: Tensor, single_keys: bool = False) -> None:
        super().__init__()
        self.single_keys = single_keys
        self.unknown, self.called, self.bytes = False, 0, 0
        self._decided = False
        self.written: set[int] = set()
        self.straight: set[int] = set()
        self._softmaxes: dict[int, tuple[Site | None, int]] = {}  # where it was called, and what a recording keeps
        self._unchanged: set[int] = set()
        self._mixing: set[int] = set()
        if "torch._dynamo" in sys.modules:
            _keep_compiler_out()
        self._products = 0
        # Of every tensor that depends on the image.
        self._scores: MutableMapping[Tensor, tuple[Scores, ...]] = WeakTensorKeyDictionary(
            {given: () for given in inputs}
        )

    @property
    def layers(self) -> int | None:
        return None if self.unknown else self.called + len(self.written)

    @property
    def linear(self) -> int:
        return len(self.straight - self.written)

    @property
    def changed(self) -> int:
        return len(self._softmaxes.keys() - self._unchanged)

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        if raised[0] is not None:
            return
        mixing = {self._softmaxes[product][0] for product in self._mixing}
        gates = {product: size for product, (place, size) in self._softmaxes.items() if place not in {None, *mixing}}
        for place in {place for place, _ in self._softmaxes.values() if place is not None}:
            place.settle(place not in mixing)
        for product, size in gates.items():
            del self._softmaxes[product]
            self.called, self.bytes = self.called - 1, self.bytes - size

    @property
    def decides(self) -> bool:
        return self.unknown or self._decided

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not always: torch would import its compiler, which takes two seconds, only to keep it out of here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
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
            self._decided = self._decided or self._decides(name, inputs, outputs)
            if func.namespace != "aten" or (func._schema.is_mutable and inputs[0]._is_view()):
                self._mixing |= self._held(*inputs[1:]) - self._held(inputs[0])  # what becomes of them nobody knows
            scores = self._scores_after(name, args, inputs, outputs)
            for each in outputs:
                self._scores[each] = (self._weights(inputs[0], each),) if weights else scores
        return out

    def _decides(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> bool:
        made = [] if name in WITH_PLACES or "attention" in name else outputs
        exact = (*made, *(each for each in inputs if each in self._scores))
        return name in DECISIONS or not all(each.is_floating_point() or each.is_complex() for each in exact)

    def _called(self, name: str, args: tuple, inputs: list[Tensor], outputs: list[Tensor]) -> bool:
        """Whether this is a softmax over keys; a whole layer in one operation counts as well."""
        if name == WHOLE_LAYER:
            tokens = inputs[0]
            self.called += 1
            self.bytes += args[2] * prod(tokens.shape[:-1]) * tokens.shape[-2] * max(4, tokens.element_size())
        elif "attention" in name:
            query, key = inputs[:2]
            heads = args[4] if name == "_native_multi_head_attention" else 1
            self.called += 1
            self.bytes += heads * prod(query.shape[:-1]) * key.shape[-2] * max(4, query.element_size())
        elif name == "_safe_softmax" or (name in SOFTMAXES and self._weighs_keys(outputs[0], args)):
            self.called += 1
            self.bytes += outputs[0].numel() * max(4, outputs[0].element_size())
            return True
        return False

    def _weighs_keys(self, output: Tensor, args: tuple) -> bool:
        return softmax_axis(output, args, {}, self.single_keys) is not None

    def _scores_after(self, name: str, args: tuple, inputs: list[Tensor], outputs: list[Tensor]) -> tuple[Scores, ...]:
        if name in PRODUCTS:
            first = PRODUCTS[name]
            return self._product(args[first], args[first + 1], outputs[0])
        if name in FORGETTING or name in (*SOFTMAXES, WHOLE_LAYER) or "attention" in name:
            return ()
        if name == "convolution":
            among_heads = tuple(each.after(name) for each in self._scores.get(args[0], ()) if each.lie_in(outputs[0]))
            return among_heads or (self._new(outputs[0], both=False),)
        held = list[Scores]()
        for each, factor in ((each, tensor) for tensor in inputs for each in self._scores.get(tensor, ())):
            if name in BY_NUMBER and each.weights and factor.numel() < outputs[0].numel():
                others = [other for other in inputs if each.product not in self._held(other)]
                if any(each.mix_by_number(factor, other) for other in others):
                    self._mixing.add(each.product)
            else:
                held.append(each.after(name))
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
            plain = (each for each, factor in factors if each.weights and not each.changed and each.lie_in(factor))
            self._unchanged |= {each.product for each in plain}
            alone = self._held(left) ^ self._held(right)
            self._mixing |= {each.product for each, factor in factors if each.mix(factor)} & alone
            by_themselves = self._held(left) & self._held(right)
            if lying | written or any(each.weights for each, _ in factors):
                return tuple({each.after("mm") for each, _ in factors if each.product in by_themselves})
            return (self._new(output, both),)
        among_heads = (each for each, factor in factors if each.both and factor.shape[-1] == prod(each.shape[:-2]))
        weights = ((each, prod(each.shape[:-2]) in factor.shape[-2:]) for each, factor in factors if each.weights)
        kept = (*among_heads, *(each.after("mm") for each, is_among_heads in weights if is_among_heads))
        return kept or (self._new(output, both),)

    def _held(self, *tensors: Tensor) -> set[int]:
        """Of which softmaxes these are the weights, or made of them."""
        return {each.product for tensor in tensors for each in self._scores.get(tensor, ()) if each.weights}

    def _weights(self, scores: Tensor, output: Tensor) -> Scores:
        self._products += 1
        self._softmaxes[self._products] = site(), output.numel() * max(4, output.element_size())
        asked = any(each.both and each.lie_in(output) for each in self._scores.get(scores, ()))
        return Scores(self._products, tuple(output.shape), weights=True, asked=asked)

    def _new(self, output: Tensor, both: bool) -> Scores:
        self._products += 1
        return Scores(self._products, tuple(output.shape), both)


@cache
def _keep_compiler_out() -> None:
    Counting.__torch_dispatch__ = torch._disable_dynamo(Counting.__torch_dispatch__)
