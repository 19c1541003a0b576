"""What a layer itself gives for a few of its queries, against what its recorded weights give: the proof of a recording.

The comparison of logits needs a pass without recording and shows nothing where the weights are computed beside the
kernel: chosen rows, half precision. This one is made for every layer of every image, and costs a few rows.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import xor
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from vizkit.models.recording.weights import full_precision, places_of, precise, repeated
from vizkit.traces import tolerance

FEW = 4


class Difference(NamedTuple):
    """Two tensors, (…, row, column), that should be equal, and how far they may be apart in each head, relative to the
    largest number of `theirs` there."""

    mine: Tensor
    theirs: Tensor
    tolerance: float


LOST = Difference(torch.zeros(1, 1, 1), torch.ones(1, 1, 1), tolerance(torch.float32))
"""Of what was to be compared with nothing of its kind."""


def coarser(one: torch.dtype, other: torch.dtype) -> torch.dtype:
    """The one of larger spacing."""
    return max(one, other, key=lambda dtype: torch.finfo(dtype).eps)


def sampled(like: Tensor, rows: tuple[int, ...] | None, draw: int = 0) -> tuple[slice, slice | list[int]]:
    """At most `FEW` places spread evenly over the recorded rows, and which queries they are.

    `rows`: the queries that are recorded; None: all those of `like`, (…, query, any). `draw`: any number, which decides
    where they begin: over many draws every row has its turn. A slice copies nothing.
    """
    count = like.shape[-2] if rows is None else len(rows)
    step = max(1, count // FEW)
    span = (min(FEW, count) - 1) * step + 1
    first = draw % (count - span + 1)
    places = slice(first, first + span, step)
    return places, places if rows is None else places_of(rows[places])


def draw_of(*given: Tensor) -> int:
    """A number for `sampled` that follows from the input: the same for the same picture, another for another."""
    digests = (zlib.crc32(each.detach().contiguous().view(torch.uint8).cpu().numpy().data) for each in given)
    return reduce(xor, digests, 0)


def difference(mine: Tensor, theirs: Tensor, dtype: torch.dtype | None = None, *, products: bool = False) -> Difference:
    """To be compared later, see `worst`. `dtype`: the coarsest of the two, that of `theirs` if None; `products`:
    whether they come of products, which may be made in less than float32."""
    allowed = tolerance(dtype or theirs.dtype, theirs.device if products else None)
    return Difference(_alone(mine), _alone(theirs), allowed)


def by_row(one: Difference) -> Difference:
    """The same error in one number of each row, (…, row, 1): all rows of a layer may be kept so."""
    mine, theirs = precise(one.mine), precise(one.theirs)
    largest = theirs.abs().amax(-1, keepdim=True)
    return Difference(largest + (mine - theirs).abs().amax(-1, keepdim=True), largest, one.tolerance)


def _alone(rows: Tensor) -> Tensor:
    """Outside the graph of a gradient; a few rows of a large tensor are copied, or they would keep all of it alive."""
    rows = rows.detach()
    return rows.clone() if rows.untyped_storage().nbytes() > 2 * rows.nbytes else rows


def worst(differences: Sequence[Difference]) -> tuple[float, float]:
    """(error, tolerance) of the one nearest to its tolerance, or farthest above it; NaN is the worst of all.

    An error is the largest difference over the last two axes, relative to the largest of `theirs` there: so a head of
    small outputs is judged by its own measure.
    """
    allowed, each = zip(*_errors(differences), strict=True)
    errors = torch.stack([error.amax().cpu().double() for error in each])
    index = int((errors / torch.tensor(allowed)).argmax())  # NaN counts as the largest
    return float(errors[index]), allowed[index]


def worst_of_each(differences: Sequence[Difference], images: int, allowed: float) -> Tensor:
    """As `worst`, of each of several images, (image): errors are scaled as if `allowed` were the tolerance of all."""
    errors = []
    for its_tolerance, error in _errors(differences):
        alone = error[0].numel() >= images and error.shape[1] % images == 0
        largest = error.reshape(len(error), images, -1).amax((0, 2)) if alone else error.amax().expand(images)
        errors.append((largest * (allowed / its_tolerance)).float())
    return torch.stack([error.to(errors[0].device) for error in errors]).amax(0)


def _errors(differences: Sequence[Difference]) -> Iterator[tuple[float, Tensor]]:
    """(tolerance, the errors (difference, …) of those of one shape): a dozen layers at once cost what one does."""
    alike: dict[tuple, list[Difference]] = {}
    for one in differences:
        alike.setdefault((one.tolerance, one.mine.shape, one.theirs.dtype, one.theirs.device), []).append(one)
    for (allowed, *_), same in alike.items():
        mine, theirs = (torch.stack([precise(one[place]) for one in same]) for place in (0, 1))
        off, largest = (each.abs().amax((-2, -1)) for each in (mine - theirs, theirs))
        yield allowed, off / (largest + torch.finfo(theirs.dtype).tiny)


def exceeds(one: Difference) -> bool:
    """Whether two tensors are farther apart than they may be; NaN always is."""
    error, allowed = worst([one])
    return not error <= allowed


def of_kernel(
    kernel: Callable[..., Tensor],
    inputs: tuple[Tensor, Tensor, Tensor],
    options: dict,
    queries: slice | list[int],
    weights: Tensor,
    own: Tensor | None,
    drawn: slice = slice(None),
) -> list[Difference]:
    """`weights` of some `queries` times the values, against the kernel's `own` output where it made one.

    Where it did not, or rounded it to half precision, it is called again for these queries alone. Of several images
    whose rounded output was compared already it is asked of those `drawn`: that costs the values of all in float32.
    """
    query, key, value = inputs
    with torch.no_grad(), full_precision(query):
        mine, found = weights @ precise(repeated(value, query, options.get("enable_gqa", False))), []
        if own is not None and not options.get("dropout_p"):
            found.append(difference(mine, own[..., queries, :], products=True))
        if own is None:
            found.append(difference(mine, kernel_rows(kernel, *inputs, queries, options), products=True))
        elif own.element_size() < 4:

            def few(each: Tensor) -> Tensor:
                return each[drawn] if each.dim() == query.dim() and len(each) == len(query) else each

            mask = options.get("attn_mask")
            own_options = options | {"attn_mask": mask if mask is None else few(mask)}
            theirs = kernel_rows(kernel, few(query), few(key), few(value), queries, own_options)
            # One axis more: it is not taken for the axis of images.
            found.append(difference(mine[drawn][None], theirs[None], products=True))
        return found


def kernel_rows(
    kernel: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, picked: slice | list[int], options: dict
) -> Tensor:
    """What `scaled_dot_product_attention` itself gives for the `picked` queries, (…, picked, channel).

    Asked in float32 at least, without dropout. Of a causal layer the picked rows of the lower triangle are its mask, as
    the kernel defines it.
    """
    mask = options.get("attn_mask")
    query, key, value = precise(query), precise(key), precise(value)
    if options.get("is_causal"):
        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    if mask is not None:
        mask = mask[..., picked, :] if mask.shape[-2] > 1 else mask
        mask = mask if mask.dtype == torch.bool else mask.to(query.dtype)
    kept = {name: options[name] for name in ("scale", "enable_gqa") if name in options}
    return kernel(query[..., picked, :], key, value, attn_mask=mask, **kept)


def multi_head_rows(weights: Tensor, arguments: dict[str, Any]) -> Tensor:
    """What `multi_head_attention_forward` makes of some rows of weights, (image, head, row, key), in float32:
    (image, row, channel).

    A (X Wᵀ) is computed as (A X) Wᵀ: a few rows are projected instead of every key.
    """
    value = arguments["value"]
    value = precise(value if value.dim() == 3 else value[:, None])  # key image channel
    heads, keys = arguments["num_heads"], value.shape[0]
    split = arguments.get("use_separate_proj_weight")
    weight = arguments["v_proj_weight"] if split else arguments["in_proj_weight"].chunk(3)[2]
    mixed = weights[..., :keys] @ value.transpose(0, 1)[:, None]  # image head row channel
    mixed = mixed @ precise(weight).unflatten(0, (heads, -1)).transpose(-2, -1)
    if arguments["in_proj_bias"] is not None:
        bias = precise(arguments["in_proj_bias"].chunk(3)[2]).view(heads, 1, -1)
        mixed = mixed + weights[..., :keys].sum(-1, keepdim=True) * bias
    if arguments.get("bias_v") is not None:  # one learned key after the others; the zeros after it add nothing
        mixed = mixed + weights[..., keys : keys + 1] * precise(arguments["bias_v"]).view(heads, 1, -1)
    out_bias = precise(arguments["out_proj_bias"])
    return F.linear(mixed.transpose(1, 2).flatten(-2), precise(arguments["out_proj_weight"]), out_bias)


def of_multi_head(arguments: dict[str, Any], weights: Tensor, outputs: Sequence[Tensor]) -> list[Difference]:
    """`weights`, (image, head, row, key), projected as the layer does it, against its `outputs` of the same rows."""
    if arguments.get("static_k") is not None or arguments.get("static_v") is not None:
        return []
    with torch.no_grad(), full_precision(weights):
        mine = multi_head_rows(weights, arguments)
        batched = (out if out.dim() == 3 else out[:, None] for out in outputs)
        return [difference(mine, out.transpose(0, 1), products=True) for out in batched]
