"""Follow a forward pass to one attention layer and keep what its kernel gets, what its projection gives, and the sum
with what went past the layer.

A `TorchFunctionMode`, as in `recording`: nothing in the model is changed or hooked, and the numbers are right also with
normalised or rotated queries, relative positions, masks and gates. The forward pass stops there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vizkit.models.recording.gates import attention_axis
from vizkit.models.recording.meeting import PRODUCTS, SOFTMAXES
from vizkit.models.recording.recorder import MULTI_HEAD, caller
from vizkit.models.recording.weights import attention_weights, repeated
from vizkit.traces import NotApplicable

FACTORS = frozenset({torch.mul, Tensor.mul, Tensor.__mul__})
ADDITIONS = frozenset({torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__, Tensor.add_, Tensor.__iadd__})
OTHERWISE = "This layer computes its attention in another way than the walk-through shows."


class LayerDone(Exception):  # noqa: N818  (ends a forward pass whose rest nobody needs)
    """The layer has been seen from its queries to the residual connection around it."""


@dataclass
class Seen:
    """All groups of a layer: (group, head, query, …). `bias` is None where nothing is added.

    `arriving`: what the linear map of the queries was given. `after` = `before` + `branch`: the residual connection, in
    the order of the stream of tokens; None where there is none.
    """

    path: str = ""
    arriving: Any = None
    query: Any = None
    key: Any = None
    value: Any = None
    scale: Any = None
    scaled: Any = None
    bias: Any = None
    biased: Any = None
    weights: Any = None
    mixed: Any = None
    entering: Any = None
    projected: Any = None
    out_weight: Any = None
    out_bias: Any = None
    before: Any = None
    branch: Any = None
    after: Any = None


class Watcher(TorchFunctionMode):
    """Follows the forward pass to attention call `layer`; raises `LayerDone` when its output has been added to what
    went past it, or the next linear map begins."""

    def __init__(self, model: nn.Module, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.count = 0
        self.seen = Seen()
        self.before: list[tuple[Callable, tuple, Tensor]] = []
        self._made: list[Tensor] = []  # everything computed since the projection, which is in it
        self._paths = {id(module): path for path, module in model.named_modules()}

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            if self._here():
                fused(self.seen, out, *args, **kwargs)
                self.seen.arriving = self._arriving()
        elif func is F.multi_head_attention_forward:
            if self._here():
                _multi_head(self.seen, out[0], MULTI_HEAD.bind(*args, **kwargs).arguments)
                self._made = [out[0]]
        elif func in SOFTMAXES:
            axis = attention_axis(out, args, kwargs)
            if axis is not None and self._here():
                _written_out(self.seen, out, args[0], axis, self.before)
                self.seen.arriving = self._arriving()
        elif self.count == self.layer and (func in PRODUCTS | FACTORS or func is F.linear):
            self.before.append((func, args, out))
        elif self.count == self.layer + 1 and self.seen.weights is not None:
            self._after(func, args, kwargs, out)
        return out

    def _here(self) -> bool:
        """Count an attention call; whether it is the one to follow."""
        self.count += 1
        if self.count == self.layer + 1:
            layer = caller(self._paths)
            self.seen.path = layer[0] if layer else f"attention {self.layer}"
            return True
        self.before.clear()
        return False

    def _arriving(self) -> Tensor | None:
        """What the latest linear map was given that has a vector for every query and makes the queries."""
        query = self.seen.query
        places = query[:, 0, :, 0].numel()
        given = (
            args[0] for func, args, out in reversed(self.before) if func is F.linear and out.numel() >= query.numel()
        )
        return next((tokens for tokens in given if tokens[..., 0].numel() == places), None)

    def _after(self, func: Callable, args: tuple, kwargs: dict, out: Any) -> None:
        """The product with the values, where the kernel has not made it, then the first linear layer, then the sum."""
        seen = self.seen
        if seen.projected is not None:
            return self._past_projection(func, args, out)
        if seen.mixed is None:
            if func in PRODUCTS and args[0].shape == seen.weights.shape:
                seen.value, seen.mixed = args[1], out
        elif func is F.linear and args[0].numel() == seen.mixed.numel():
            weight, bias = (*args[1:], kwargs.get("bias"))[:2]
            seen.entering, seen.projected, seen.out_weight, seen.out_bias = args[0], out, weight, bias
            self._made = [out]

    def _past_projection(self, func: Callable, args: tuple, out: Any) -> None:
        """Up to the first sum of two tensors of which the layer has computed a single one: the other went past it."""
        if func is F.linear:
            raise LayerDone
        summands = [x for x in args[:2] if isinstance(x, Tensor)]
        if func in ADDITIONS and len(summands) == 2 and summands[0].shape == summands[1].shape:
            made = [any(x is known for known in self._made) for x in summands]
            if sum(made) == 1:
                self.seen.branch, self.seen.before = summands if made[0] else summands[::-1]
                self.seen.after = out
                raise LayerDone
        if isinstance(out, Tensor):
            self._made.append(out)


def fused(seen: Seen, out: Tensor, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> None:
    """What `scaled_dot_product_attention` was given and gave."""
    options = dict(zip(("attn_mask", "dropout_p", "is_causal"), args, strict=False)) | kwargs
    if query.dim() != 4:
        raise NotApplicable(OTHERWISE)
    gqa, mask, factor = options.get("enable_gqa", False), options.get("attn_mask"), options.get("scale")
    seen.weights = attention_weights(query, key, **options)
    seen.query, seen.key, seen.value = query, repeated(key, query, gqa), repeated(value, query, gqa)
    seen.scale = query.shape[-1] ** -0.5 if factor is None else factor
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=torch.float32).masked_fill(~mask, float("-inf"))
    if options.get("is_causal"):
        mask = torch.full(seen.weights.shape[-2:], float("-inf"), device=query.device).triu(1)
    seen.bias = None if mask is None else mask.expand_as(seen.weights)
    seen.mixed = out


def _multi_head(seen: Seen, out: Tensor, arguments: dict) -> None:
    """`nn.MultiheadAttention` (torchvision's ViT), sequence first; its inner steps are repeated from what it got."""
    unusual = ("bias_k", "attn_mask", "key_padding_mask")
    if arguments.get("add_zero_attn") or any(arguments.get(name) is not None for name in unusual) or out.dim() != 3:
        raise NotApplicable(OTHERWISE)
    weights, biases = arguments["in_proj_weight"], arguments["in_proj_bias"]
    if weights is None or arguments.get("use_separate_proj_weight"):
        raise NotApplicable(OTHERWISE)
    biases = (None,) * 3 if biases is None else biases.chunk(3)
    tokens = (arguments["query"], arguments["key"], arguments["value"])
    projected = [F.linear(*three) for three in zip(tokens, weights.chunk(3), biases, strict=True)]
    seen.query, seen.key, seen.value = (
        p.unflatten(-1, (arguments["num_heads"], -1)).permute(1, 2, 0, 3) for p in projected
    )  # image head token width
    seen.arriving = arguments["query"].transpose(0, 1)
    seen.scale = seen.query.shape[-1] ** -0.5
    seen.weights = attention_weights(seen.query, seen.key)
    seen.mixed = seen.weights.to(seen.value.dtype) @ seen.value
    seen.entering, seen.projected = side_by_side(seen.mixed), out.transpose(0, 1)
    seen.out_weight, seen.out_bias = arguments["out_proj_weight"], arguments["out_proj_bias"]


def _written_out(seen: Seen, weights: Tensor, biased: Tensor, axis: int, before: list) -> None:
    """A softmax in plain torch: the product that led to it, and whether queries, keys or scores were scaled."""
    products = [(args, out) for func, args, out in before if func in PRODUCTS and out.numel() == weights.numel()]
    if axis != -1 or weights.dim() != 4 or not products:
        raise NotApplicable(OTHERWISE)
    (query, key), product = products[-1]
    factor, scaled = torch.ones((), device=weights.device), product
    for func, args, out in before:
        if func in FACTORS and out is query:  # Swin scales its queries …
            query, factor = args[0], factor * args[1]
        elif func in FACTORS and args[0] is product:  # … Swin v2 its scores, each head by a learned number
            factor, scaled = factor * args[1], out
    seen.query, seen.key = query, key.transpose(-1, -2)
    seen.scale, seen.scaled, seen.biased, seen.weights = factor, scaled, biased, weights
    seen.bias = None if biased is scaled else biased - scaled


def side_by_side(mixed: Tensor) -> Tensor:
    """(group, head, query, width) → (group, query, head·width)."""
    return mixed.transpose(1, 2).flatten(2)
