"""The proof of an edited pass: every query of every attention layer, computed again from what the layer itself asked.

It looks on from outside the editing: it sees what a layer is given before anything is changed, and what the model gets
in the end, and knows the plan alone. A layer that the plan does not name has to give what attention gives (Vaswani et
al. 2017, eq. 1), another one what its edits say, here of weights instead of scores: p^(1/T), equal shares, zero.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from vizkit.check import precision_of_products
from vizkit.models.recording.edited_scores import scored
from vizkit.models.recording.editing import Editing
from vizkit.models.recording.edits import Edit, EditError
from vizkit.models.recording.gates import attention_axis
from vizkit.models.recording.layer_output import Difference, by_row, difference
from vizkit.models.recording.recorder import MULTI_HEAD, SOFTMAXES
from vizkit.models.recording.watching import PRODUCTS
from vizkit.models.recording.weights import (
    AT_ONCE,
    full_precision,
    multi_head_output,
    precise,
    repeated,
)

OF_SCORES = ("temperature", "uniform", "frozen")
Rows = Callable[[slice], tuple[Tensor, Tensor]]
"""Of some queries what a layer should give and what it gave, (…, query, any)."""


class EditProof(TorchFunctionMode):
    """Entered after `Editing`. `differences`: what each layer should have given against what it gave."""

    def __init__(self, editing: Editing) -> None:
        super().__init__()
        self.editing, self.plan = editing, editing.plan
        self.layer = -1
        self.differences: list[Difference] = []
        self._largest = 0.0  # of the scores that the latest layer was asked to change
        self._waiting: tuple[Tensor, Callable[[slice], Tensor]] | None = (
            None  # weights, and what those of some queries are
        )

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        # What is computed here is no part of the pass: neither the editing nor the recording shall hear it.
        with torch._C.DisableTorchFunction(), torch.no_grad():
            self._hear(func, args, kwargs, out)
        return out

    def _hear(self, func: Callable, args: tuple, kwargs: dict, out: Any) -> None:
        if func is F.scaled_dot_product_attention:
            self._fused(out, *args, **kwargs)
        elif func is F.multi_head_attention_forward:
            self._multi_head(out[0], MULTI_HEAD.bind(*args, **kwargs).arguments)
        elif func in SOFTMAXES and (axis := attention_axis(out, args, kwargs)) is not None:
            self._softmax(out, args[0], axis)
        elif self._waiting is not None and func in PRODUCTS and args[0].data_ptr() == self._waiting[0].data_ptr():
            weights, of = self._waiting
            self._waiting, value = None, precise(args[1])
            self._compare(
                out, weights.shape, lambda rows: (self._given(of(rows) @ value, rows), out[..., rows, :]), products=True
            )

    # ---- the ways in which models write attention ----------------------------------------------------------------
    def _fused(self, out: Tensor, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self._next(query.dim() == 4):
            return
        options = dict(zip(("attn_mask", "dropout_p", "is_causal"), args, strict=False)) | kwargs
        key, value = (precise(repeated(each, query, options.get("enable_gqa", False))) for each in (key, value))
        scale = options.get("scale")
        masks = [options.get("attn_mask")]
        if options.get("is_causal"):
            masks.append(torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril())

        def of(rows: slice) -> tuple[Tensor, Tensor]:
            scores = precise(query[..., rows, :]) @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
            for mask in masks:
                scores = _with_mask(scores, mask, rows)
            return self._given(self._weights(scores, rows) @ value, rows), out[..., rows, :]

        self._compare(out, (*query.shape[:-1], key.shape[-2]), of, products=True)

    def _softmax(self, out: Tensor, scores: Tensor, axis: int) -> None:
        if not self._next(out.dim() == 4 and axis == -1):
            return
        mixed = any(edit.how == "mean" for edit in self._edits())

        def weights(rows: slice) -> Tensor:
            return self._weights(precise(scores[..., rows, :]), rows)

        self._waiting = (out, weights) if mixed else None
        self._compare(
            out,
            out.shape,
            lambda rows: (weights(rows) if mixed else self._given(weights(rows), rows), out[..., rows, :]),
        )

    def _multi_head(self, out: Tensor, arguments: dict) -> None:
        learned = any(arguments.get(name) is not None for name in ("bias_k", "static_k", "static_v"))
        if not self._next(not (learned or arguments.get("add_zero_attn"))):
            return
        heads = arguments["num_heads"]
        query, key, value = (
            each if each.dim() == 3 else each[:, None]
            for each in (arguments[name] for name in ("query", "key", "value"))
        )
        given = (out if out.dim() == 3 else out[:, None]).transpose(0, 1)
        mask, padding = arguments.get("attn_mask"), arguments.get("key_padding_mask")
        if mask is not None and mask.dim() == 3:
            mask = mask.unflatten(0, (-1, heads))
        if padding is not None:
            padding = padding.view(query.shape[1], 1, 1, -1)
        # True forbids, where the kernel's masks allow.
        masks = [each if each is None or each.dtype != torch.bool else ~each for each in (mask, padding)]
        exact = {name: precise(each) for name, each in arguments.items()} | {"value": precise(value)}
        with full_precision(query):
            if arguments.get("use_separate_proj_weight"):
                projections = exact["q_proj_weight"], exact["k_proj_weight"]
            else:
                projections = exact["in_proj_weight"].chunk(3)[:2]
            biases = (None,) * 2 if exact.get("in_proj_bias") is None else exact["in_proj_bias"].chunk(3)[:2]
            asked, answering = (
                F.linear(precise(each), weight, bias).unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)
                for each, weight, bias in zip((query, key), projections, biases, strict=True)
            )  # image head token channel

        def of(rows: slice) -> tuple[Tensor, Tensor]:
            scores = asked[..., rows, :] @ answering.mT * asked.shape[-1] ** -0.5
            for each in masks:
                scores = _with_mask(scores, each, rows)
            weights = self._weights(scores, rows)
            expected = multi_head_output(self._given(weights, rows, only_share=True), exact).transpose(0, 1)
            if (means := self._means(heads, rows)) is not None:
                joined = means.transpose(1, 2).flatten(-2)  # image query channel
                expected = expected + F.linear(joined, exact["out_proj_weight"])
            return expected, given[:, rows]

        self._compare(out, (*asked.shape[:-1], answering.shape[-2]), of, products=True)

    # ---- what a layer should give --------------------------------------------------------------------------------
    def _next(self, known: bool) -> bool:
        """Whether the layer that calls now can be computed again. EditError where it cannot, but is edited."""
        self.layer += 1
        if not known and self.editing.acts(self._edits()):
            raise EditError(f"Layer {self.layer + 1} of this model computes its attention in a way that is not edited.")
        return known

    def _edits(self) -> list[Edit]:
        return [edit for edit in self.plan.edits if edit.concerns(self.layer)]

    def _weights(self, scores: Float[Tensor, "group head row key"], rows: slice) -> Tensor:
        """After the softmax, of the layer's own scores of some queries."""
        edits = self._edits()
        if not scored(edits):
            return scores.softmax(-1).nan_to_num(0.0)  # a query that may look nowhere
        may = self._may(scores, rows)
        seen = may & ~self._blind(edits, scores)
        seen = torch.where(seen.any(-1, keepdim=True), seen, may)
        self._largest = max(self._largest, float(scores.masked_fill(~may, 0.0).abs().amax()))
        likely = scores.masked_fill(~may, -torch.inf).log_softmax(-1)
        last = self._last(OF_SCORES, scores.shape[1])
        heat = [edit.value if edit and edit.kind == "temperature" else 1.0 for edit in last]
        largest = likely.amax(-1, keepdim=True)
        shares = ((likely - largest) / scores.new_tensor(heat).view(-1, 1, 1)).exp().nan_to_num(0.0)
        for head, edit in enumerate(last):
            if edit and edit.kind == "uniform":
                shares[:, head] = 1.0
            elif edit and edit.kind == "frozen":
                weights = self.plan.frozen[edit, self.layer]
                weights = weights[:, head if weights.shape[1] > 1 else 0, rows].to(shares)
                shares[:, head] = weights.repeat(len(shares) // len(weights), 1, 1)
        shares = shares * seen
        shares = torch.where(shares.sum(-1, keepdim=True) > 0, shares, seen.to(shares))
        return (shares / shares.sum(-1, keepdim=True)).nan_to_num(0.0)

    def _last(self, kinds: Sequence[str], heads: int) -> list[Edit | None]:
        """Of each head the last edit of one of these kinds."""
        edits = [edit for edit in reversed(self._edits()) if edit.kind in kinds]
        return [next((edit for edit in edits if edit.head in (None, head)), None) for head in range(heads)]

    def _may(self, scores: Tensor, rows: slice) -> Bool[Tensor, "group head row key"]:
        """Where the layer itself lets its queries look: what is known of its windows comes from their geometry."""
        may = scores > torch.finfo(scores.dtype).min / 2
        regions, closed = self.plan.places[self.layer].regions, self.editing.closed
        if regions is not None:
            alike = regions[:, rows, None] == regions[:, None]
            return may & alike.repeat(len(may) // len(alike), 1, 1)[:, None].to(may.device)
        if closed is not None:
            may = may & ~(closed[..., rows, :] if closed.shape[-2] > 1 else closed)
        return may

    def _blind(self, edits: Sequence[Edit], scores: Tensor) -> Bool[Tensor, "#group 1 1 #key"]:
        tokens = {token for edit in edits if edit.kind == "blind" for token in edit.tokens}
        rows = self.plan.places[self.layer].key_ids.tolist() if tokens else []
        kept = [[token in tokens for token in row if token not in self.plan.dropped] for row in rows] or [[False]]
        blind = torch.tensor(kept, device=scores.device)[:, None, None]
        return blind.repeat(len(scores) // len(blind), 1, 1, 1)

    def _given(self, made: Tensor, rows: slice, *, only_share: bool = False) -> Tensor:
        """What the heads give, (group, head, row, …), and nothing or their mean where they are taken away."""
        gone = self._last(("heads",), made.shape[1])
        if not any(gone):
            return made
        made = made * made.new_tensor([float(edit is None) for edit in gone]).view(-1, 1, 1)
        means = None if only_share else self._means(made.shape[1], rows)
        return made if means is None or means.shape[-1] != made.shape[-1] else made + means.to(made)

    def _means(self, heads: int, rows: slice) -> Tensor | None:
        """Of heads that give their mean; 0 of the others."""
        gone = self._last(("heads",), heads)
        instead = [head for head, edit in enumerate(gone) if edit and edit.how == "mean"]
        if not instead:
            return None
        means = torch.zeros_like(self.plan.means[self.layer][:, :, rows])
        means[:, instead] = self.plan.means[self.layer][:, instead, rows]
        return means

    def _compare(self, out: Tensor, shape: Sequence[int], of: Rows, *, products: bool = False) -> None:
        """`out`: where it lies; `shape`: (group, head, query, key). As many queries at once as the recording holds.
        Scores of size s are rounded by ε · s, which dividing by T makes larger: weights are off by that share."""
        self._largest, count = 0.0, shape[-2]
        step = max(1, AT_ONCE[out.device.type == "cpu"] * count // prod(shape))
        with full_precision(out):
            parts = [
                by_row(difference(*of(slice(first, first + step)), products=products))
                for first in range(0, count, step)
            ]
        mine, theirs = torch.cat([part.mine for part in parts], -2), torch.cat([part.theirs for part in parts], -2)
        sharpest = max((1 / edit.value for edit in self._edits() if edit.kind == "temperature"), default=0.0)
        spacing = precision_of_products(out.device).spacing if products else 0.0
        rounding = 4 * max(torch.finfo(out.dtype).eps, spacing) * self._largest * sharpest
        self.differences.append(Difference(mine, theirs, max(parts[0].tolerance, rounding)))


def _with_mask(scores: Tensor, mask: Tensor | None, rows: slice) -> Tensor:
    """Of some queries; a mask that is true allows."""
    if mask is None:
        return scores
    mask = mask[..., rows, :] if mask.shape[-2] > 1 else mask
    return scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + precise(mask)
