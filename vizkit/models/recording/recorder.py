"""Record the attention of any model by watching its function calls: nothing in the model is changed or hooked.

`TorchFunctionMode` hands us every `scaled_dot_product_attention`, `multi_head_attention_forward` and `softmax` made
inside a forward pass of this thread. Attention is softmax(Q Kᵀ · scale + mask) V (Vaswani et al. 2017, eq. 1), so the
true weights can be computed there, in the autograd graph, while fused kernels stay on everywhere else. Hooks cannot do
this: fused attention never calls the dropout that they listen to.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vizkit.models.recording.call import Call, Keep, Kernel, by_image, version_of
from vizkit.models.recording.gates import attention_axis
from vizkit.models.recording.layer_output import (
    LOST,
    Difference,
    coarser,
    difference,
    of_kernel,
    of_multi_head,
    sampled,
)
from vizkit.models.recording.meeting import SOFTMAXES, Meeting, Path, into, laid
from vizkit.models.recording.weights import (
    aligned,
    attention_weights,
    following,
    groups_among,
    mean_over_heads,
    multi_head_output,
    places_of,
    precise,
    repeated,
)

PROJECTIONS = frozenset({F.linear, F.conv1d, F.conv2d})
MULTI_HEAD = inspect.signature(F.multi_head_attention_forward)


class _Way(NamedTuple):
    """Weights between their softmax and the values. `shape`: (…, query, key) of all of them, `queries` those of the
    sample."""

    call: Call
    path: Path
    shape: tuple[int, ...]
    queries: slice | list[int]


class Recorder(TorchFunctionMode):
    """Collects a `Call` for every attention layer of a forward pass made inside `with recorder:`.

    `single_keys`: also of layers with one key only, see `weights.softmax_axis`. `draw`: which rows are compared, see
    `layer_output.sampled`. `images`: how many go through together, None for one, whose records have no axis of images.
    """

    def __init__(
        self,
        model: nn.Module,
        keep: Keep | None = None,
        *,
        gradient: bool = False,
        single_keys: bool = False,
        draw: int = 0,
        images: int | None = None,
    ) -> None:
        super().__init__()
        self.images = images
        self.single_keys, self.draw = single_keys, draw
        self._ways: list[_Way] = []
        self.keep = keep or Keep()
        self.gradient = gradient
        self.calls: list[Call] = []
        self.entering: Tensor | None = None  # what the last attention layer was given, in the graph of a gradient
        self._projected: Tensor | None = None  # what went into the latest linear layer
        self._positions: int | None = None  # at how many places the latest linear layer or convolution gave a vector
        self._paths = {id(module): path for path, module in model.named_modules()}
        if gradient and self.keep.heads == "mean":
            raise ValueError("Gradients belong to single heads: keep every head when a target is given.")

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if self.gradient and func is F.linear:
            x = args[0] if args else kwargs["input"]
            self._projected = x if x.requires_grad else self._projected  # not the offsets of a position bias
        if func is F.scaled_dot_product_attention:
            return self._fused(func, *args, **kwargs)
        if func is F.multi_head_attention_forward:
            return self._multi_head(func, MULTI_HEAD.bind(*args, **kwargs).arguments)
        if func in SOFTMAXES:
            return self._softmax(func, args, kwargs)
        out = func(*args, **kwargs)
        if func in PROJECTIONS:
            self._positions = out.numel() // out.shape[-1 if func is F.linear else 1] // (self.images or 1)
        for way in tuple(self._ways):
            if (met := way.path.met(func, args, kwargs, out)) is not None:
                self._met(way, met)
        return out

    def _met(self, way: _Way, met: Meeting) -> None:
        """What is kept against what enters the product with the values, in the rows of the sample."""
        call = way.call
        kept = call.weights if call.raw is None else call.raw
        assert kept is not None
        call.version = call.version if call.met else version_of(kept)
        if not met.whole:
            call.met = LOST  # until the others have met theirs
            return
        self._ways.remove(way)
        entering, rows = met.weights, laid(met.weights, way.shape, way.queries)
        if rows is not None and call.raw is None:
            rows = call.grouped(rows)
            rows = rows.mean(-3, keepdim=True) if self.keep.heads == "mean" else rows
        kept_rows = kept.detach()[..., call.places, :]
        coarse = coarser(kept.dtype, entering.dtype)
        call.met = LOST if rows is None else difference(precise(rows).to(kept.dtype), kept_rows, coarse)

    def _keeps_next(self) -> bool:
        return self.keep.layers is None or len(self.calls) in self.keep.layers

    def _rows(self, like: Tensor) -> tuple[int, ...] | None:
        """The rows to keep that this layer has, where its queries are one group, so that a position is a token id."""
        groups = like.shape[0] // (self.images or 1) if like.dim() > 2 else 1
        if self.keep.rows is None or self.gradient or like.dim() > 4 or groups != 1:
            return None
        return tuple(row for row in dict.fromkeys(self.keep.rows) if 0 <= row < like.shape[-2]) or None

    def _add(
        self,
        kernel: Kernel,
        weights: Tensor | None = None,
        rows: tuple[int, ...] | None = None,
        heads: int = 0,
        sample: tuple[slice, Tensor] | None = None,
        differences: Sequence[Difference] = (),
    ) -> Call:
        """`heads`: given when `weights` are their mean already."""
        path, module = caller(self._paths) or (f"attention {len(self.calls)}", None)
        # Keys and values come from one tensor, so the linear layer before an attention call shows what entered it.
        self.entering = self._projected if self.gradient else None
        call = Call(
            path,
            module,
            kernel,
            rows=rows,
            differences=[*differences],
            sample=sample,
            entering=self.entering,
            images=self.images,
        )
        if sample is not None:
            call.places = sample[0]
        if weights is not None:
            each = weights if self.images is None else weights[: weights.shape[0] // self.images]
            call.groups = groups_among(tuple(each.shape), self._positions)
        if weights is not None and self.gradient:
            call.raw = weights  # stays in the graph until the gradient has been taken
        elif weights is not None:
            self._store(call, weights.detach(), heads)
        self.calls.append(call)
        return call

    def _store(self, call: Call, weights: Tensor, heads: int = 0) -> None:
        if heads and self.images is not None:  # the mean of the heads, (image · group, 1, query, key)
            weights = by_image(weights, self.images)
        weights = weights if heads else call.grouped(weights)
        call.heads = heads or weights.shape[-3]
        if self.keep.heads == "mean" and not heads:
            weights = weights.mean(-3, keepdim=True)
        call.weights = weights.to(self.keep.dtype or weights.dtype)
        if call.weights is not weights:
            call.row_sums = weights.sum(-1)
        if call.differences and call.sample is not None:
            places, each = call.sample
            each = call.grouped(each)
            expected = each.mean(-3, keepdim=True) if self.keep.heads == "mean" else each
            kept = call.weights[..., places, :]
            call.differences.append(difference(kept.to(expected.dtype), expected, kept.dtype))
        call.sample = None
        call.version = version_of(call.weights)

    def take_gradients(self, logit: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
        """Fill in the weights and ∂logit/∂weights of every kept layer, after softmax and of the same layer.

        Gives ∂logit/∂other of every other tensor of the graph; zeros where the logit does not depend on it.
        """
        kept = [(call, call.raw) for call in self.calls if call.raw is not None]
        tensors = [*(raw for _, raw in kept), *others]
        gradients = torch.autograd.grad(logit, tensors, allow_unused=True) if tensors else ()
        for (call, raw), gradient in zip(kept, gradients[: len(kept)], strict=True):
            self._store(call, raw.detach())
            gradient = call.grouped(torch.zeros_like(raw) if gradient is None else gradient)
            call.gradient = gradient.to(self.keep.dtype or gradient.dtype)
            call.raw = None
        pairs = zip(others, gradients[len(kept) :], strict=True)
        return tuple(torch.zeros_like(other) if gradient is None else gradient for other, gradient in pairs)

    def _sampled(self, like: Tensor, rows: tuple[int, ...] | None) -> tuple[slice, slice | list[int]]:
        return sampled(like, rows, self.draw + len(self.calls))

    def _drawn(self, query: Tensor) -> slice:
        """One of the images, another in every layer: its groups in (image · group, …)."""
        groups = len(query) // (self.images or 1)
        first = (self.draw + len(self.calls)) % (self.images or 1) * groups
        return slice(first, first + groups)

    def _softmax(self, func: Callable, args: tuple, kwargs: dict) -> Tensor:
        buffer = kwargs.get("out")  # the model may write into it again: what is kept lies elsewhere
        own = out = func(*args, **{name: value for name, value in kwargs.items() if name != "out"})
        axis = attention_axis(out, args, kwargs, self.single_keys)
        if axis is None or not self._keeps_next():
            if axis is not None:
                self._add("softmax")
            return into(buffer, out)
        exact = precise(args[0] if args else kwargs["input"]).softmax(axis) if out.element_size() < 4 else out
        weights, own = (exact, own) if axis == -1 else (exact.transpose(-1, -2), own.transpose(-1, -2))
        if self.gradient:  # the model goes on with the very tensor whose gradient is taken
            weights = weights if weights.requires_grad else weights.detach().requires_grad_()  # a map of places alone
            out = following(out, weights if axis == -1 else weights.transpose(-1, -2))
        rows = self._rows(weights)
        kept = weights if rows is None else weights[..., places_of(rows), :]
        places, queries = self._sampled(kept, rows)
        # What a softmax gives is its own proof, up to rounding; what becomes of it on the way to the values is not.
        sample = kept.detach()[..., places, :]
        call = self._add(
            "softmax", kept, rows, 0, (places, sample), [difference(sample, own.detach()[..., queries, :])]
        )
        given = (out, into(buffer, out))
        same = [way for way in self._ways[-1:] if way.call.module is call.module]  # two maps that are blended
        self._ways = [*same, _Way(call, Path(tuple(weights.shape), *given), tuple(weights.shape), queries)]
        return out

    def _fused(self, func: Callable, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        options = dict(zip(("attn_mask", "dropout_p", "is_causal"), args, strict=False)) | kwargs
        if not self._keeps_next():
            self._add("fused")
            return func(query, key, value, *args, **kwargs)
        # Rows are computed beside the kernel; so are all weights in half precision, where the logits have to stay what
        # the kernel makes of them.
        rows, heads, own, out = self._rows(query), 0, None, None
        if rows is not None or query.element_size() < 4:
            with torch.no_grad():
                own = func(query, key, value, *args, **kwargs)
        places, queries = self._sampled(query, rows)
        if self.keep.heads == "mean" and query.dim() == 4 and rows is None:
            heads = query.shape[1]
            weights, out, sample = mean_over_heads(query, key, value if own is None else None, options, places)
        else:
            weights = attention_weights(query, key, rows=rows, **options)
            sample = weights.detach()[..., places, :]
            if own is None or self.gradient:  # with a gradient the weights must be in the graph
                out = aligned(weights, value.dtype) @ repeated(value, query, options.get("enable_gqa", False))
        differences = of_kernel(func, (query, key, value), options, queries, sample, own, self._drawn(query))
        self._add("fused", weights, rows, heads, (places, sample), differences)
        if own is None or out is None:
            return out if own is None else own  # pyright: ignore[reportReturnType]
        return following(own, out)

    def _multi_head(self, func: Callable, arguments: dict) -> tuple[Tensor, Tensor | None]:
        """`nn.MultiheadAttention`: its inner calls are not seen, so it is called for its weights."""
        query = arguments["query"]
        if not self._keeps_next():
            self._add("mha")
            return func(**arguments)
        batched = query.dim() == 3
        rows = self._rows(query.transpose(0, 1) if batched else query)  # sequence first
        self._projected = arguments["value"] if batched and self.gradient else None
        changed = {**arguments, "need_weights": True, "average_attn_weights": False}
        beside = rows is not None or query.element_size() < 4
        if beside:
            changed = {name: precise(value) for name, value in changed.items()}
        if rows is not None:
            picked, mask = places_of(rows), changed.get("attn_mask")
            changed |= {"query": changed["query"][picked], "attn_mask": None if mask is None else mask[..., picked, :]}
        out, weights = func(**changed)
        own = func(**arguments) if beside else None
        images = weights if batched else weights[None]
        places, queries = self._sampled(images, rows)
        sample = images.detach()[..., places, :]
        outputs = [out[places]] if own is None else [out[places], own[0][queries]]
        self._add("mha", images, rows, 0, (places, sample), of_multi_head(arguments, sample, outputs))
        if self.gradient:
            out = multi_head_output(weights, arguments)  # torch hands out a view that its own output does not depend on
        if own is not None:
            return following(own[0], out), own[1]
        if not arguments.get("need_weights", True):
            return out, None
        return out, weights.mean(-3) if arguments.get("average_attn_weights", True) else weights


def caller(paths: dict[int, str]) -> tuple[str, nn.Module] | None:
    """The innermost module on the call stack that belongs to the model: which layer called."""
    frame = sys._getframe(3)
    while frame is not None:
        module = frame.f_locals.get("self")
        path = paths.get(id(module))
        if path and isinstance(module, nn.Module) and not isinstance(module, nn.Softmax):
            return path, module
        frame = frame.f_back
    return None
