"""Change the attention of any model while it runs: nothing in the model is changed or hooked, no other thread sees it.

The same interceptor that records (`recorder`) is entered a second time, inside: what it hands on is what the recorder
sees. Everything that happens before the softmax is scores ↦ factor · scores + mask (`edited_scores`), which opens no
mask of the layer's own (`masks`), and what happens after it is done to a head's output, so all ways in which models
write attention are edited alike. `edit_proof` looks on from outside.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from vizkit.models.recording.edited_scores import as_scores, edited, factor_of, scored, which
from vizkit.models.recording.edits import Edit, EditError
from vizkit.models.recording.gates import attention_axis
from vizkit.models.recording.masks import Masks
from vizkit.models.recording.meeting import PRODUCTS, SOFTMAXES
from vizkit.models.recording.plan import NOW, Place, Plan, planned
from vizkit.models.recording.recorder import MULTI_HEAD

__all__ = ["NOW", "Editing", "HeadOutputs", "Place", "Plan", "planned"]


class Editing(TorchFunctionMode):
    """Follows a plan for one forward pass. `first`: the attention layer that calls first, from 0. `closed`: where the
    latest layer forbids to look, where its scores are edited and it forbids anything."""

    def __init__(self, plan: Plan, first: int = 0) -> None:
        super().__init__()
        self.plan = plan
        self.layer = first - 1
        self.closed: Tensor | None = None
        self._weights: Tensor | None = None  # of a softmax whose product with the values is still to come
        self._masks, self._listens = Masks(), scored(self._edits(first))

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return self._fused(func, *args, **kwargs)
        if func is F.multi_head_attention_forward:
            return self._multi_head(func, MULTI_HEAD.bind(*args, **kwargs).arguments)
        if func in SOFTMAXES and attention_axis(args[0], args, kwargs) is not None:
            return self._softmax(func, args, kwargs)
        if self._weights is not None and func in PRODUCTS and _same(args[0], self._weights):
            self._weights = None
            return self.outputs(self._edits(self.layer), func(*args, **kwargs))
        out = func(*args, **kwargs)
        if self._listens:
            self._masks.hear(func, args, out)
        return out

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        if raised[0] is None:
            self._refuse_lost_product()

    # ---- the ways in which models write attention ----------------------------------------------------------------
    def _fused(self, func: Callable, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        edits = self._next()
        if not self.acts(edits):
            return func(query, key, value, *args, **kwargs)
        options = dict(zip(("attn_mask", "dropout_p", "is_causal"), args, strict=False)) | kwargs
        heads, queries, keys = query.shape[-3], query.shape[-2], key.shape[-2]
        self._refuse_unknown(query.shape[0] if query.dim() == 4 else -1, heads)
        if scored(edits):
            masks = [options.pop("attn_mask", None)]
            if options.pop("is_causal", False):
                masks.append(torch.ones(queries, keys, dtype=torch.bool, device=query.device).tril())
            added = [as_scores(mask, query) for mask in masks if mask is not None]
            options["attn_mask"] = self._edited(edits, added, (query.shape[0], heads, queries, keys), query)
            query = query * factor_of(edits, heads, query)
        out = func(query, key, value, **options)
        return self.outputs(edits, out) if self.weighs(edits) else out

    def _softmax(self, func: Callable, args: tuple, kwargs: dict) -> Tensor:
        edits = self._next()
        if not self.acts(edits):
            return func(*args, **kwargs)
        scores = args[0]
        if scores.dim() != 4 or attention_axis(scores, args, kwargs) != -1:
            self._refuse_unknown(-1, -1)
        self._refuse_unknown(*scores.shape[:2])
        if scored(edits):
            scores = self._edited(edits, [scores], scores.shape, scores, added=False)
        weights = func(scores, *args[1:], **kwargs)
        if self.mixes(edits):
            self._weights = weights
        elif self.weighs(edits):
            # What the model goes on with; the recorder has seen the weights themselves, whose rows sum to 1.
            return self.outputs(edits, weights)
        return weights

    def _multi_head(self, func: Callable, arguments: dict) -> Any:
        """torch's own layer projects inside: factors go to the projection of the queries, and W_O is applied here."""
        edits = self._next()
        if not self.acts(edits):
            return func(**arguments)
        heads, dim = arguments["num_heads"], arguments["embed_dim_to_check"]
        query, key = arguments["query"], arguments["key"]
        self._refuse_unknown(query.shape[1] if query.dim() == 3 else 1, heads)
        changed = dict(arguments)
        if scored(edits):
            factor = factor_of(edits, heads, query).view(heads, 1).expand(heads, dim // heads).reshape(dim, 1)
            if arguments.get("use_separate_proj_weight"):
                changed["q_proj_weight"] = arguments["q_proj_weight"] * factor
            else:
                weight = arguments["in_proj_weight"]
                changed["in_proj_weight"] = torch.cat([weight[:dim] * factor, weight[dim:]])
            if (bias := arguments.get("in_proj_bias")) is not None:
                changed["in_proj_bias"] = torch.cat([bias[:dim] * factor[:, 0], bias[dim:]])
            shape = (query.shape[1] if query.dim() == 3 else 1, heads, query.shape[0], key.shape[0])
            mask = self._edited(edits, masks_of(arguments, shape, query), shape, query)
            changed["attn_mask"] = None if mask is None else mask.expand(shape).flatten(0, 1)
            changed["key_padding_mask"], changed["is_causal"] = None, False
        if not self.weighs(edits):
            return func(**changed)
        changed["out_proj_weight"] = torch.eye(dim, dtype=query.dtype, device=query.device)
        changed["out_proj_bias"] = None
        side_by_side, weights = func(**changed)  # query (image) channel
        batched = side_by_side if side_by_side.dim() == 3 else side_by_side[:, None]
        mixed = self.outputs(edits, batched.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3))
        out = mixed.permute(2, 0, 1, 3).reshape(side_by_side.shape)
        return F.linear(out, arguments["out_proj_weight"], arguments["out_proj_bias"]), weights

    # ---- which layer it is, and what its edits come to -----------------------------------------------------------
    def _next(self) -> list[Edit]:
        """The edits of the layer that calls now."""
        self._refuse_lost_product()
        self.layer += 1
        self._listens = scored(self._edits(self.layer + 1))
        return self._edits(self.layer)

    def _edits(self, layer: int) -> list[Edit]:
        return [edit for edit in self.plan.edits if edit.concerns(layer)]

    def _refuse_unknown(self, groups: int, heads: int) -> None:
        """EditError where the numbers of the layer that calls now do not lie as (group, head, query, key)."""
        place = self.plan.places[self.layer] if self.layer < len(self.plan.places) else None
        if place is None or place.heads != heads or groups < 1 or groups % place.groups:
            raise EditError(f"Layer {self.layer + 1} of this model computes its attention in a way that is not edited.")

    def _refuse_lost_product(self) -> None:
        if self._weights is not None:
            raise EditError(
                f"Layer {self.layer + 1} of this model changes its weights after the softmax: what a head "
                "gives cannot be exchanged."
            )

    def _edited(
        self, edits: Sequence[Edit], given: Sequence[Tensor], shape: Sequence[int], like: Tensor, *, added: bool = True
    ) -> Tensor | None:
        """What the edits make of the scores that are `given`, or of the numbers that are `added` to them, if any;
        None: nothing is to be added."""
        closed = [self._masks.closed(each, added=added) for each in given]
        self._masks.forget()
        self.closed = torch.stack(torch.broadcast_tensors(*closed)).any(0) if closed else None
        if not given and all(edit.kind in ("temperature", "uniform") for edit in edits):
            return None
        ids = self.plan.places[self.layer].key_ids
        if self.plan.dropped:
            ids = ids[:, ~torch.isin(ids[0], torch.tensor(self.plan.dropped))]
        nothing = like.new_zeros(1, 1, 1, 1)
        groups, heads, queries, keys = shape
        return edited(
            sum(given[1:], given[0]) if given else nothing,
            nothing.bool() if self.closed is None else self.closed,
            edits,
            ids,
            self.plan.frozen,
            self.layer,
            (groups, heads, queries, keys),
        )

    def acts(self, edits: Sequence[Edit]) -> bool:
        return bool(self.plan.scales or any(edit.kind != "temperature" or edit.value != 1 for edit in edits))

    def weighs(self, edits: Sequence[Edit]) -> bool:
        """Whether something happens to what the heads give."""
        return bool(self.plan.scales or any(edit.kind == "heads" for edit in edits))

    def mixes(self, edits: Sequence[Edit]) -> bool:
        """Whether factors are not enough: the product of weights and values itself is needed."""
        return any(edit.how == "mean" for edit in edits) or bool(self.plan.scales and self.plan.means)

    def outputs(
        self, edits: Sequence[Edit], out: Float[Tensor, "group head query channel"]
    ) -> Float[Tensor, "group head query channel"]:
        """What the layer goes on with instead. Of two edits of a head the later one holds."""
        share, own = (torch.ones(1, out.shape[1], 1, 1, dtype=out.dtype, device=out.device) for _ in range(2))
        for edit in edits:
            if edit.kind == "heads":
                share[:, which(edit)] = 0.0
                own[:, which(edit)] = float(edit.how == "mean")
        if self.plan.scales:
            scales = self.plan.scales[self.layer].to(out)
            share = share * scales.repeat_interleave(self.plan.places[self.layer].groups, 0)[:, :, None, None]
        if not self.mixes(edits):
            return out * share
        return out * share + self._means(out) * own * (1 - share)

    def _means(self, out: Tensor) -> Tensor:
        if not self.plan.means:
            raise EditError("A head's mean is taken over reference images: give some.")
        means = self.plan.means[self.layer].to(out)
        if means.shape[1:] != out.shape[1:] or len(out) % len(means):
            raise EditError(f"Layer {self.layer + 1}: the means are those of other tokens, or of another model.")
        return means.repeat(len(out) // len(means), 1, 1, 1)


class HeadOutputs(Editing):
    """Hears what the heads of every layer give, (layer, (group, head, query, channel)), and changes nothing: the
    weights times the values, before W_O."""

    def __init__(self, places: tuple[Place, ...], hear: Callable[[int, Tensor], None]) -> None:
        super().__init__(Plan((), places))
        self.hear = hear

    def acts(self, edits: Sequence[Edit]) -> bool:
        del edits
        return True

    weighs = mixes = acts

    def outputs(self, edits: Sequence[Edit], out: Tensor) -> Tensor:
        del edits
        self.hear(self.layer, out)
        return out


def masks_of(arguments: dict, shape: tuple[int, int, int, int], like: Tensor) -> list[Tensor]:
    """The masks of `multi_head_attention_forward` as numbers that are added to scores of this `shape`."""
    groups, heads, queries, keys = shape
    laid = {"attn_mask": (-1, 1, queries, keys), "key_padding_mask": (groups, 1, 1, keys)}
    masks = ((arguments.get(name), as_laid) for name, as_laid in laid.items())
    # Here True forbids, where the kernel's masks allow.
    given = (((~mask if mask.dtype == torch.bool else mask), as_laid) for mask, as_laid in masks if mask is not None)
    return [as_scores(m.unflatten(0, (groups, heads)) if m.dim() == 3 else m.view(laid), like) for m, laid in given]


def _same(weights: Any, known: Tensor) -> bool:
    """Whether a product's left factor is that tensor; a dropout that is off gives it on as it is."""
    return isinstance(weights, Tensor) and weights.data_ptr() == known.data_ptr() and weights.shape == known.shape
