"""Record the attention of any model by watching its function calls: nothing in the model is changed or hooked.

`TorchFunctionMode` hands us every `scaled_dot_product_attention`, `multi_head_attention_forward` and `softmax` made
inside a forward pass of this thread. Attention is softmax(Q Kᵀ · scale + mask) V (Vaswani et al. 2017, eq. 1), so the
true weights can be computed there, in the autograd graph, while fused kernels stay on everywhere else. Hooks cannot do
this: fused attention never calls the dropout that they listen to.
"""

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

SOFTMAXES = frozenset({torch.softmax, F.softmax, Tensor.softmax})
HEAD_BY_HEAD = ("CascadedGroupAttention",)  # one call per head (EfficientViT, Liu et al. 2023)


@dataclass(frozen=True)
class Keep:
    """What a recording keeps; the default is everything.

    `layers`: indices of attention layers in the order of the forward pass; the others run untouched.
    `rows`: token ids of queries. The fused kernel then does the layer's work and only these rows are computed beside
    it, so that inputs with thousands of tokens cost no memory.
    `heads="mean"` keeps the mean over heads and never holds all heads at once. `dtype`: how weights are stored.
    """

    layers: Collection[int] | None = None
    rows: tuple[int, ...] | None = None
    heads: Literal["each", "mean"] = "each"
    dtype: torch.dtype | None = None


@dataclass
class Call:
    """One attention layer as it was called, of one image.

    `weights` are (group, head, query, key), None for a layer that was not asked for. `module` is the innermost module
    that called, `path` its name in the model. `rows` are the query ids that were kept (None: all). `kernel` says how
    the layer computes: "fused", "mha" or "softmax" (written out). `raw` is the tensor in the autograd graph.
    """

    path: str
    module: nn.Module | None
    kernel: Literal["fused", "mha", "softmax"]
    weights: Tensor | None
    heads: int = 1
    rows: tuple[int, ...] | None = None
    gradient: Tensor | None = None
    raw: Tensor | None = None


class Recorder(TorchFunctionMode):
    """Collects a `Call` for every attention layer of a forward pass made inside `with recorder:`."""

    def __init__(self, model: nn.Module, keep: Keep | None = None, *, gradient: bool = False) -> None:
        super().__init__()
        self.keep = keep or Keep()
        self.gradient = gradient
        self.calls: list[Call] = []
        self._paths = {id(module): path for path, module in model.named_modules()}
        if gradient and self.keep.heads == "mean":
            raise ValueError("Gradients belong to single heads: keep every head when a target is given.")

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return self._fused(func, *args, **kwargs)
        if func is F.multi_head_attention_forward:
            return self._multi_head(func, args, kwargs)
        out = func(*args, **kwargs)
        if func in SOFTMAXES:
            weights = softmax_weights(out, args, kwargs)
            if weights is not None:
                rows = self._rows(weights)
                self._add("softmax", weights if rows is None else weights[..., list(rows), :], rows)
        return out

    def _wanted(self) -> bool:
        return self.keep.layers is None or len(self.calls) in self.keep.layers

    def _rows(self, like: Tensor) -> tuple[int, ...] | None:
        """The asked rows that this layer has, where its queries are one group, so that a position is a token id."""
        if self.keep.rows is None or self.gradient or like.dim() > 4 or (like.dim() > 2 and like.shape[0] != 1):
            return None
        return tuple(row for row in self.keep.rows if row < like.shape[-2]) or None

    def _add(self, kernel: Any, weights: Tensor | None, rows: tuple[int, ...] | None = None) -> None:  # noqa: ANN401
        path, module = self._caller()
        call = Call(path, module, kernel, None, rows=rows)
        if weights is not None and self._wanted():
            if self.gradient:
                call.raw = weights  # stays in the graph until the gradient has been taken
            else:
                call.weights, call.heads = self._stored(weights.detach(), module)
        self.calls.append(call)

    def _stored(self, weights: Tensor, module: nn.Module | None) -> tuple[Tensor, int]:
        weights = grouped(weights, module)
        heads = weights.shape[1]
        if self.keep.heads == "mean":
            weights = weights.mean(1, keepdim=True)
        return weights.to(self.keep.dtype or weights.dtype), heads

    def take_gradients(self, logit: Tensor) -> None:
        """Fill in the weights and ∂logit/∂weights of every kept layer, after softmax and of the same layer."""
        kept = [call for call in self.calls if call.raw is not None]
        found = torch.autograd.grad(logit, [call.raw for call in kept], allow_unused=True) if kept else ()
        for call, gradient in zip(kept, found, strict=True):
            assert call.raw is not None
            gradient = torch.zeros_like(call.raw) if gradient is None else gradient
            call.weights, call.heads = self._stored(call.raw.detach(), call.module)
            call.gradient = self._stored(gradient, call.module)[0]
            call.raw = None

    def _fused(self, func: Callable, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:  # noqa: ANN401
        options = dict(zip(("attn_mask", "dropout_p", "is_causal"), args, strict=False)) | kwargs
        if not self._wanted():
            self._add("fused", None)
            return func(query, key, value, *args, **kwargs)
        rows = self._rows(query)
        # Rows are computed beside the kernel; so are all weights in half precision, where the logits have to stay what
        # the kernel makes of them. With a gradient the weights must be in the graph.
        if not self.gradient and (rows is not None or query.element_size() < 4):
            self._add("fused", attention_weights(query, key, rows=rows, **options), rows)
            return func(query, key, value, *args, **kwargs)
        if self.keep.heads == "mean" and query.dim() == 4:
            weights, out = mean_over_heads(query, key, value, options)
            self._add("fused", weights)
            self.calls[-1].heads = query.shape[1]
            return out
        weights = attention_weights(query, key, **options)
        self._add("fused", weights)
        return weights.to(value.dtype) @ repeated(value, query, options)

    def _multi_head(self, func: Callable, args: tuple, kwargs: dict) -> tuple[Tensor, Tensor | None]:
        """`nn.MultiheadAttention`: its inner calls are not seen, so it is asked for its weights."""
        if not self._wanted():
            self._add("mha", None)
            return func(*args, **kwargs)
        query, *rest = args
        batched, mask = query.dim() == 3, kwargs.get("attn_mask")
        rows = self._rows(query.transpose(0, 1) if batched else query)  # sequence first
        asked = {**kwargs, "need_weights": True, "average_attn_weights": False}
        if rows is not None:
            picked = list(rows)
            part = mask if mask is None else mask[..., picked, :]
            self._add("mha", func(query[picked], *rest, **{**asked, "attn_mask": part})[1], rows)
            return func(*args, **kwargs)
        out, weights = func(*args, **asked)
        self._add("mha", weights if batched else weights[None])
        if not kwargs.get("need_weights", True):
            return out, None
        return out, weights.mean(-3) if kwargs.get("average_attn_weights", True) else weights

    def _caller(self) -> tuple[str, nn.Module | None]:
        """The innermost module on the call stack that belongs to the model: which layer asked."""
        frame = sys._getframe(2)
        while frame is not None:
            module = frame.f_locals.get("self")
            path = self._paths.get(id(module))
            if path and isinstance(module, nn.Module) and not isinstance(module, nn.Softmax):
                return path, module
            frame = frame.f_back
        return f"attention {len(self.calls)}", None


def softmax_weights(out: Tensor, args: tuple, kwargs: dict) -> Tensor | None:
    """Attention weights (…, query, key) of a written-out softmax, or None when it is no attention.

    A softmax over the last of three or more axes weighs keys. Over the last but one of four it is a linear attention
    that weighs tokens for every channel of a head (CoaT, Xu et al. 2021, eq. 4): there the channels ask. Over an
    earlier axis it selects channels or branches (squeeze attention of ResNeSt and SKNet), which has no places.
    """
    axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if axis is None or out.dim() < 3 or out.shape[axis] < 2:
        return None
    axis = axis % out.dim()
    if axis == out.dim() - 1:
        return out
    return out.transpose(-1, -2) if axis == out.dim() - 2 and out.dim() == 4 and out.shape[-1] > 1 else None


def grouped(weights: Tensor, module: nn.Module | None) -> Tensor:
    """(group, head, query, key) of one image, from the shapes in which models write their attention.

    Besides the usual (group, head, …) there are (group, …) of a single head, (group·head, …) of SAM, (head, group, …)
    of HaloNet, (1, head, group, …) of Hiera and VOLO, (1, group, head, …) of Twins. The module's own `num_heads` tells.
    """
    heads = int(getattr(module, "num_heads", 1) or 1)
    shape = weights.shape
    if weights.dim() == 3:
        merged = heads > 1 and shape[0] % heads == 0 and type(module).__name__ not in HEAD_BY_HEAD
        return weights.unflatten(0, (-1, heads)) if merged else weights[:, None]
    if weights.dim() == 4:
        swapped = shape[0] == heads and shape[1] != heads
        return weights.transpose(0, 1) if swapped else weights
    if weights.dim() == 5 and shape[0] == 1:
        groups_first = shape[1] != heads or type(module).__name__ == "LocallyGroupedAttn"
        return weights[0] if groups_first else weights[0].transpose(0, 1)
    raise ValueError(f"attention of shape {tuple(shape)} in {type(module).__name__} is not understood")


def repeated(tensor: Tensor, query: Tensor, options: dict) -> Tensor:
    """Grouped-query attention: every key and value head serves several query heads (Ainslie et al. 2023)."""
    if not options.get("enable_gqa"):
        return tensor
    return tensor.repeat_interleave(query.shape[-3] // tensor.shape[-3], -3)


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    rows: tuple[int, ...] | None = None,
) -> Tensor:
    """softmax(Q Kᵀ · scale + mask) as `scaled_dot_product_attention` defines it, in float32 at least, (…, query, key).

    `rows` picks positions of the query axis. Dropout is left out: it is no part of the weights.
    """
    queries, keys = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    key = repeated(key, query, {"enable_gqa": enable_gqa})
    picked = None if rows is None else list(rows)
    if picked is not None:
        query = query[..., picked, :]
        if attn_mask is not None and attn_mask.shape[-2] > 1:
            attn_mask = attn_mask[..., picked, :]
    with torch.autocast(query.device.type, enabled=False):
        if query.element_size() < 4:
            query, key = query.float(), key.float()
        scores = (query * scale) @ key.transpose(-2, -1)
        if is_causal:
            position = torch.arange(queries, device=query.device)
            position = position if picked is None else position[picked]
            later = torch.arange(keys, device=query.device) > position[:, None]
            scores = scores.masked_fill(later, float("-inf"))
        if attn_mask is not None:
            boolean = attn_mask.dtype == torch.bool
            scores = scores.masked_fill(~attn_mask, float("-inf")) if boolean else scores + attn_mask
        return scores.softmax(-1)


def mean_over_heads(query: Tensor, key: Tensor, value: Tensor, options: dict) -> tuple[Tensor, Tensor]:
    """Mean weights (…, 1, query, key) and the layer's output, one head at a time: one head's matrix is held at most."""
    key, value = repeated(key, query, options), repeated(value, query, options)
    options = {name: given for name, given in options.items() if name != "enable_gqa"}
    mask, heads = options.pop("attn_mask", None), query.shape[1]
    total, outs = None, []
    for head in range(heads):
        one = slice(head, head + 1)
        part = mask[..., one, :, :] if mask is not None and mask.dim() >= 3 and mask.shape[-3] > 1 else mask
        weights = attention_weights(query[:, one], key[:, one], attn_mask=part, **options)
        outs.append(weights.to(value.dtype) @ value[:, one])
        total = weights if total is None else total.add_(weights)
    assert total is not None
    return total / heads, torch.cat(outs, 1)
