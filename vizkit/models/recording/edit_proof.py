"""The proof of an edited pass: a few queries of every attention layer, computed again from what the layer itself asked.

It looks on from outside the editing: it sees what a layer is given before anything is changed, and what the model gets
in the end, and knows the plan alone. A layer that the plan does not name has to give what attention gives (Vaswani et
al. 2017, eq. 1), another one what its edits say, here of weights instead of scores: p^(1/T), equal shares, zero.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from vizkit.models.recording.edited_scores import scored
from vizkit.models.recording.editing import Editing
from vizkit.models.recording.edits import Edit, EditError
from vizkit.models.recording.gates import attention_axis
from vizkit.models.recording.layer_output import Difference, difference, multi_head_rows, sampled
from vizkit.models.recording.recorder import MULTI_HEAD, SOFTMAXES
from vizkit.models.recording.watching import PRODUCTS
from vizkit.models.recording.weights import full_precision, precise, repeated

OF_SCORES = ("temperature", "uniform", "frozen")
Rows = slice | list[int]


class EditProof(TorchFunctionMode):
    """Entered after `Editing`. `differences`: what each layer should have given against what it gave."""

    def __init__(self, editing: Editing) -> None:
        super().__init__()
        self.editing, self.plan = editing, editing.plan
        self.layer = -1
        self.differences: list[Difference] = []
        self._largest = 0.0  # of the scores that the latest layer was asked to change
        self._waiting: tuple[Tensor, Tensor, Rows] | None = None  # weights, those of some queries, which queries

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
            _, weights, queries = self._waiting
            self._waiting = None
            self._compare(self._given(weights @ precise(args[1]), queries), out[..., queries, :])

    # ---- the ways in which models write attention ----------------------------------------------------------------
    def _fused(self, out: Tensor, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self._next(query.dim() == 4):
            return
        options = dict(zip(("attn_mask", "dropout_p", "is_causal"), args, strict=False)) | kwargs
        key, value = (precise(repeated(each, query, options.get("enable_gqa", False))) for each in (key, value))
        queries = sampled(query, None)[1]
        with full_precision(query):
            scale = options.get("scale")
            scores = precise(query[..., queries, :]) @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
            scores = _with_mask(scores, options.get("attn_mask"), queries)
            if options.get("is_causal"):
                earlier = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
                scores = _with_mask(scores, earlier, queries)
            mixed = self._weights(scores, queries) @ value
        self._compare(self._given(mixed, queries), out[..., queries, :])

    def _softmax(self, out: Tensor, scores: Tensor, axis: int) -> None:
        if not self._next(out.dim() == 4 and axis == -1):
            return
        queries = sampled(out, None)[1]
        scores = precise(scores[..., queries, :])
        weights = self._weights(scores, queries)
        if any(edit.how == "mean" for edit in self._edits()):
            self._waiting = out, weights, queries
        else:
            weights = self._given(weights, queries)
        self._compare(weights, out[..., queries, :])

    def _multi_head(self, out: Tensor, arguments: dict) -> None:
        """Queries are projected, and then onto what the keys are projected from: Q (X Wᵀ)ᵀ is computed as (Q W) Xᵀ."""
        learned = any(arguments.get(name) is not None for name in ("bias_k", "static_k", "static_v"))
        if not self._next(not (learned or arguments.get("add_zero_attn"))):
            return
        heads = arguments["num_heads"]
        query, key = (each if each.dim() == 3 else each[:, None] for each in (arguments["query"], arguments["key"]))
        queries = sampled(query.transpose(0, 1), None)[1]
        with full_precision(query):
            if arguments.get("use_separate_proj_weight"):
                to_query, to_key = arguments["q_proj_weight"], arguments["k_proj_weight"]
            else:
                to_query, to_key, _ = arguments["in_proj_weight"].chunk(3)
            bias = arguments.get("in_proj_bias")
            of_query, of_key, _ = (None,) * 3 if bias is None else precise(bias).chunk(3)
            own = F.linear(precise(query[queries]), precise(to_query), of_query)
            own = own.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)  # image head query channel
            scores = (own @ precise(to_key).unflatten(0, (heads, -1))) @ precise(key).permute(1, 2, 0)[:, None]
            if of_key is not None:
                scores = scores + own @ of_key.view(heads, -1, 1)
            scores = scores * own.shape[-1] ** -0.5
            mask, padding = arguments.get("attn_mask"), arguments.get("key_padding_mask")
            if mask is not None:  # True forbids, where the kernel's masks allow
                mask = mask.unflatten(0, (-1, heads)) if mask.dim() == 3 else mask
                scores = _with_mask(scores, ~mask if mask.dtype == torch.bool else mask, queries)
            if padding is not None:
                padding = padding.view(len(scores), 1, 1, -1)
                scores = _with_mask(scores, ~padding if padding.dtype == torch.bool else padding, queries)
            weights = self._weights(scores, queries)
            expected = multi_head_rows(self._given(weights, queries, only_share=True), arguments)
            if (means := self._means(weights.shape[1], queries)) is not None:
                joined = means.transpose(1, 2).flatten(-2)  # image query channel
                expected = expected + F.linear(joined, precise(arguments["out_proj_weight"]))
        given = out if out.dim() == 3 else out[:, None]
        self._compare(expected, given.transpose(0, 1)[:, queries])

    # ---- what a layer should give --------------------------------------------------------------------------------
    def _next(self, known: bool) -> bool:
        """Whether the layer that calls now can be computed again. EditError where it cannot, but is edited."""
        self.layer += 1
        if not known and self.editing.acts(self._edits()):
            raise EditError(f"Layer {self.layer + 1} of this model computes its attention in a way that is not edited.")
        return known

    def _edits(self) -> list[Edit]:
        return [edit for edit in self.plan.edits if edit.concerns(self.layer)]

    def _weights(self, scores: Float[Tensor, "group head row key"], queries: Rows) -> Tensor:
        """After the softmax, of the layer's own scores of some queries."""
        edits = self._edits()
        if not scored(edits):
            return scores.softmax(-1).nan_to_num(0.0)  # a query that may look nowhere
        may = self._may(scores, queries)
        seen = may & ~self._blind(edits, scores)
        seen = torch.where(seen.any(-1, keepdim=True), seen, may)
        self._largest = float(scores.masked_fill(~may, 0.0).abs().amax())
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
                weights = weights[:, head if weights.shape[1] > 1 else 0, queries].to(shares)
                shares[:, head] = weights.repeat(len(shares) // len(weights), 1, 1)
        shares = shares * seen
        shares = torch.where(shares.sum(-1, keepdim=True) > 0, shares, seen.to(shares))
        return (shares / shares.sum(-1, keepdim=True)).nan_to_num(0.0)

    def _last(self, kinds: Sequence[str], heads: int) -> list[Edit | None]:
        """Of each head the last edit of one of these kinds."""
        edits = [edit for edit in reversed(self._edits()) if edit.kind in kinds]
        return [next((edit for edit in edits if edit.head in (None, head)), None) for head in range(heads)]

    def _may(self, scores: Tensor, queries: Rows) -> Bool[Tensor, "group head row key"]:
        """Where the layer itself lets its queries look: what is known of its windows comes from their geometry."""
        may = scores > torch.finfo(scores.dtype).min / 2
        regions, closed = self.plan.places[self.layer].regions, self.editing.closed
        if regions is not None:
            alike = regions[:, queries, None] == regions[:, None]
            return may & alike.repeat(len(may) // len(alike), 1, 1)[:, None].to(may.device)
        if closed is not None:
            may = may & ~(closed[..., queries, :] if closed.shape[-2] > 1 else closed)
        return may

    def _blind(self, edits: Sequence[Edit], scores: Tensor) -> Bool[Tensor, "#group 1 1 #key"]:
        tokens = {token for edit in edits if edit.kind == "blind" for token in edit.tokens}
        rows = self.plan.places[self.layer].key_ids.tolist() if tokens else []
        kept = [[token in tokens for token in row if token not in self.plan.dropped] for row in rows] or [[False]]
        blind = torch.tensor(kept, device=scores.device)[:, None, None]
        return blind.repeat(len(scores) // len(blind), 1, 1, 1)

    def _given(self, made: Tensor, queries: Rows, *, only_share: bool = False) -> Tensor:
        """What the heads give, (group, head, row, …), and nothing or their mean where they are taken away."""
        gone = self._last(("heads",), made.shape[1])
        if not any(gone):
            return made
        made = made * made.new_tensor([float(edit is None) for edit in gone]).view(-1, 1, 1)
        means = None if only_share else self._means(made.shape[1], queries)
        return made if means is None or means.shape[-1] != made.shape[-1] else made + means.to(made)

    def _means(self, heads: int, queries: Rows) -> Tensor | None:
        """Of heads that give their mean; 0 of the others."""
        gone = self._last(("heads",), heads)
        instead = [head for head, edit in enumerate(gone) if edit and edit.how == "mean"]
        if not instead:
            return None
        means = torch.zeros_like(self.plan.means[self.layer][:, :, queries])
        means[:, instead] = self.plan.means[self.layer][:, instead, queries]
        return means

    def _compare(self, mine: Tensor, theirs: Tensor) -> None:
        """Scores of size s are rounded by ε · s, which dividing by T makes larger: weights are off by that share."""
        sharpest = max((1 / edit.value for edit in self._edits() if edit.kind == "temperature"), default=0.0)
        rounding = 4 * torch.finfo(theirs.dtype).eps * self._largest * sharpest
        found = difference(mine, theirs)
        self.differences.append(found._replace(tolerance=max(found.tolerance, rounding)))


def _with_mask(scores: Tensor, mask: Tensor | None, queries: Rows) -> Tensor:
    """Of some queries; a mask that is true allows."""
    if mask is None:
        return scores
    mask = mask[..., queries, :] if mask.shape[-2] > 1 else mask
    return scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + precise(mask)
