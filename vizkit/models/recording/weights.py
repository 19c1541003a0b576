"""Attention weights from what a layer was given: the arithmetic behind `recording`, without any recording.

Attention is softmax(Q Kᵀ · scale + mask) V (Vaswani et al. 2017, eq. 1).
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vizkit.models.recording.kinds import kind
from vizkit.traces import TraceError

HEAD_BY_HEAD = ("timm.models.efficientvit_msra.CascadedGroupAttention",)  # one call per head (Liu et al. 2023)
GROUP_FIRST = ("timm.models.twins.LocallyGroupedAttn",)  # (1, group, head, …), also with as many groups as heads


AT_ONCE = (1 << 26, 1 << 21)
"""How many weights are made at once, elsewhere and on the CPU, where 8 MiB stay in its caches."""
ALIGNED = 8
"""Rows of half precision that begin at a multiple of 16 bytes: other shapes are multiplied without tensor cores."""


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    rows: Sequence[int] | slice | None = None,
) -> Tensor:
    """softmax(Q Kᵀ · scale + mask) as `scaled_dot_product_attention` defines it, in float32 at least, (…, query, key).

    `rows` picks positions of the query axis. Dropout is left out: it is no part of the weights. A query that may look
    nowhere gets zeros, as from the kernel.
    """
    queries, keys = query.shape[-2], key.shape[-2]
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    key = repeated(key, query, enable_gqa)
    picked = rows if isinstance(rows, slice) else slice(None) if rows is None else places_of(rows)
    query = query[..., picked, :]
    if attn_mask is not None and attn_mask.shape[-2] > 1:
        attn_mask = attn_mask[..., picked, :]
    with full_precision(query):
        half = query.element_size() < 4
        scores = _WideProduct.apply(query, key, factor) if half else _scaled_product(query, key, factor)
        if is_causal:
            position = torch.arange(queries, device=query.device)[picked]
            later = torch.arange(keys, device=query.device) > position[:, None]
            scores = scores.masked_fill(later, float("-inf"))
        if attn_mask is None:
            # On the CPU the weights take the place of the scores, unless a gradient needs both: filling a second large
            # buffer for every layer would cost more than the softmax itself.
            in_place = scores.device.type == "cpu" and not scores.requires_grad
            return torch.softmax(scores, -1, out=scores) if in_place else scores.softmax(-1)
        boolean = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, float("-inf")) if boolean else scores + attn_mask
        nowhere = (scores == float("-inf")).all(-1, keepdim=True)
        return scores.softmax(-1).masked_fill(nowhere, 0.0)


def places_of(rows: Sequence[int]) -> slice | list[int]:
    """An index of these rows; of a single one it copies nothing."""
    return slice(rows[0], rows[0] + 1) if len(rows) == 1 else list(rows)


def full_precision(like: Tensor) -> AbstractContextManager:
    """No autocast on the device of `like`. Entering one costs as much as a small product: only where there is one."""
    kind = like.device.type
    return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


def sums_wide(device: torch.device) -> bool:
    """Whether it multiplies half precision as it is given and sums it in float32."""
    return device.type == "cuda" and not torch.version.hip


def _scaled_product(query: Tensor, key: Tensor, factor: float) -> Tensor:
    """Q Kᵀ · factor, in float32 at least; the factor is taken along by the product where the shapes allow it, instead
    of copying Q. Half precision is widened before, except where the device sums it in float32 by itself.
    """
    half = query.element_size() < 4
    if half and not sums_wide(query.device):
        return _scaled_product(precise(query), precise(key), factor)
    if query.dim() == 4 and query.shape[:2] == key.shape[:2] and not query.requires_grad and not key.requires_grad:
        flat = query.flatten(0, 1), key.flatten(0, 1).transpose(-2, -1)
        scores = query.new_empty(len(flat[0]), query.shape[-2], key.shape[-2], dtype=precise(query[:0]).dtype)
        wide: dict[str, Any] = {"out_dtype": scores.dtype} if half else {}
        return torch.baddbmm(scores, *flat, **wide, beta=0, alpha=factor, out=scores).unflatten(0, query.shape[:2])
    return (precise(query) * factor) @ precise(key).transpose(-2, -1)


class _WideProduct(torch.autograd.Function):
    """Q Kᵀ · factor of half precision in float32; what goes back is rounded to theirs, as in the model's own kernel."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, factor: float) -> Tensor:
        ctx.save_for_backward(query, key)
        ctx.factor = factor
        return _scaled_product(query.detach(), key.detach(), factor)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        query, key = ctx.saved_tensors
        gradient = aligned(gradients[0], query.dtype)
        to_query, to_key = gradient @ key, gradient.transpose(-2, -1) @ query
        return to_query.mul_(ctx.factor), to_key.mul_(ctx.factor).sum_to_size(key.shape), None


class _Aligned(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, dtype: torch.dtype) -> Tensor:
        ctx.dtype, keys = weights.dtype, weights.shape[-1]
        wide = weights.new_empty(*weights.shape[:-1], -(-keys // ALIGNED) * ALIGNED, dtype=dtype)
        return wide[..., :keys].copy_(weights)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0].to(ctx.dtype), None


def aligned(weights: Tensor, dtype: torch.dtype) -> Tensor:
    """In the type of the values, as a factor of a product: of half precision each row begins where `ALIGNED` says."""
    return weights if weights.dtype == dtype else _Aligned.apply(weights, dtype)  # pyright: ignore[reportReturnType]


def mean_over_heads(
    query: Tensor,
    key: Tensor,
    value: Tensor | None,
    options: dict[str, Any],
    sampled: slice,
    rows: slice = slice(None),
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Mean weights (image, 1, query, key), the layer's output, and the `sampled` rows of every head's own weights; of
    some `rows` alone where they are given. `value`: None where the output is known.

    As many images at a time, or rows of one, as stay near the processor, each with all its heads.
    """
    images, heads, queries = query.shape[:3]
    asked, calls, axis = range(queries)[rows], [], 0
    most = max(1, AT_ONCE[query.device.type == "cpu"] // (heads * key.shape[-2]))  # rows of all heads
    if images > 1 and images * len(asked) > most:
        step, mask = max(1, most // queries), options.get("attn_mask")
        of_each = mask is not None and mask.dim() == 4 and len(mask) > 1
        key = key.expand(images, -1, -1, -1)
        value = None if value is None else value.expand(images, -1, -1, -1)
        for part in (slice(at, at + step) for at in range(0, images, step)):
            own = options | {"attn_mask": mask[part]} if of_each else options
            calls.append((query[part], key[part], None if value is None else value[part], own, sampled))
    elif len(asked) > most:
        ends = ((at, min(at + most, queries)) for at in range(0, queries, most))
        calls, axis = [(query, key, value, options, sampled, slice(*end)) for end in ends], -2
    if calls:
        tiles = []
        for call in calls:
            mean, out, sample = mean_over_heads(*call)
            tiles.append((mean, out, sample.clone()))  # a view would keep the weights of the whole tile
        mean, out, sample = zip(*tiles, strict=True)
        return torch.cat(mean, axis), None if value is None else torch.cat(out, axis), torch.cat(sample, axis)
    weights = attention_weights(query, key, rows=rows, **options)
    mean, out = weights.mean(1, keepdim=True), None
    if value is not None:
        out = aligned(weights, value.dtype) @ repeated(value, query, options.get("enable_gqa", False))
    here = [place - asked.start for place in range(queries)[sampled] if place in asked]
    return mean, out, weights[..., slice(here[0], here[-1] + 1, sampled.step) if here else slice(0), :]


def repeated(tensor: Tensor, query: Tensor, enable_gqa: bool) -> Tensor:
    """Grouped-query attention: every key and value head serves several query heads (Ainslie et al. 2023)."""
    return tensor.repeat_interleave(query.shape[-3] // tensor.shape[-3], -3) if enable_gqa else tensor


def precise(value: Any) -> Any:
    """Tensors in half precision as float32, everything else as it is."""
    half = isinstance(value, Tensor) and value.is_floating_point() and value.element_size() < 4
    return value.float() if half else value


def multi_head_output(weights: Tensor, arguments: dict) -> Tensor:
    """The output of `multi_head_attention_forward`, computed from `weights`, (image, head, query, key)."""
    if weights.dim() != 4 or weights.shape[-1] != arguments["value"].shape[0]:
        raise TraceError(
            "Gradients are not recorded for multi-head attention with learned extra keys or without images."
        )
    split = arguments.get("use_separate_proj_weight")
    value_weight = arguments["v_proj_weight"] if split else arguments["in_proj_weight"].chunk(3)[2]
    value_bias = None if arguments["in_proj_bias"] is None else arguments["in_proj_bias"].chunk(3)[2]
    value = F.linear(arguments["value"], value_weight, value_bias)  # key image channel
    value = value.unflatten(-1, (arguments["num_heads"], -1)).permute(1, 2, 0, 3)  # image head key channel
    mixed = (aligned(weights, value.dtype) @ value).permute(2, 0, 1, 3).flatten(-2)  # query image channel
    return F.linear(mixed, arguments["out_proj_weight"], arguments["out_proj_bias"])


class _Following(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, mine: Tensor) -> Tensor:
        ctx.dtype = mine.dtype
        return own.view_as(own)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        return None, gradients[0].to(ctx.dtype)


def following(own: Tensor, mine: Tensor) -> Tensor:
    """The values of `own`; the gradient, where there is one, goes to `mine`."""
    return _Following.apply(own.detach(), mine) if mine.requires_grad else own  # pyright: ignore[reportReturnType]


def softmax_axis(out: Tensor, args: tuple, kwargs: dict, single_keys: bool = False) -> int | None:
    """Over which axis a written-out softmax weighs its keys, −1 or −2, or None when it is no attention.

    A softmax over the last of three or more axes weighs keys. Over the last but one of four it is a linear attention
    that weighs tokens for every channel of a head (CoaT, Xu et al. 2021, eq. 4): channels are the queries. Over
    an earlier axis it selects channels or branches (squeeze attention of ResNeSt and SKNet), which has no places.
    `single_keys`: a softmax over one key counts too, as in a text of one token.
    """
    axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if axis is None or out.dim() < 3 or out.shape[axis] < 2 - single_keys:
        return None
    axis = axis % out.dim() - out.dim()
    return axis if axis == -1 or (axis == -2 and out.dim() == 4 and out.shape[-1] > 1) else None


def grouped(weights: Tensor, module: nn.Module | None, groups: int | None = None) -> Tensor:
    """(group, head, query, key) of one image, from the shapes in which models write their attention.

    Besides the usual (group, head, …) there are (group, …) of a single head, (group·head, …) of SAM, (head, group, …)
    of HaloNet, (1, head, group, …) of Hiera and VOLO, (1, group, head, …) of Twins. The module's `num_heads` decides;
    where it has none, `groups` does, see `groups_among`.
    """
    heads, shape = _heads_of(module), tuple(weights.shape)
    if weights.dim() not in (3, 4, 5) or (weights.dim() == 5 and shape[0] != 1):
        raise TraceError(f"Attention of shape {shape} in {type(module).__name__} is not understood.")
    groups = groups if heads is None else None
    if weights.dim() == 3:
        if heads is None:  # torch's own order is (image · head, …), and this is one image
            groups = groups or 1
        else:
            alone = shape[0] % heads or kind(module) in HEAD_BY_HEAD
            groups = shape[0] if alone else shape[0] // heads
        return weights.unflatten(0, (groups, -1))
    first, second = shape[-4:-2]
    weights = weights[0] if weights.dim() == 5 else weights
    merged = groups in (1, first * second)  # all of them are heads, or all of them groups
    if groups is not None and merged and first > 1 < second:
        return weights.flatten(0, 1).unflatten(0, (groups, -1))
    if heads is None:
        swapped = groups == second != first
    elif len(shape) == 4:
        swapped = first == heads != second
    else:
        swapped = first == heads and kind(module) not in GROUP_FIRST
    return weights.transpose(0, 1) if swapped else weights


def _heads_of(module: nn.Module | None) -> int | None:
    """How many heads a layer has; None where it has no attribute of a known name for it."""
    counts = (getattr(module, name, None) for name in ("num_heads", "heads", "num_attention_heads", "n_heads"))
    return next((count for count in counts if isinstance(count, int) and count > 0), None)


def groups_among(shape: tuple[int, ...], positions: int | None) -> int | None:
    """How many groups weights of this shape lie in, None where that is unknown.

    `positions`: how many tokens the layer before has projected. Each stands in one group, so with the right number all
    keys, or all queries, are that many.
    """
    *axes, queries, keys = shape
    if len(axes) not in (1, 2, 3):
        return None
    possible = {*axes, 1, prod(axes)} if len(axes) > 1 else {d for d in range(1, axes[0] + 1) if axes[0] % d == 0}
    fitting = [positions // count for count in (keys, queries) if positions and positions % count == 0]
    return next((groups for groups in fitting if groups in possible), None)
