"""Change the attention of any model while it runs: nothing in the model is changed or hooked, no other thread sees it.

The same interceptor that records (`recorder`) is entered a second time, inside: what it hands on is what the recorder
sees. Everything that happens before the softmax is scores ↦ factor · scores + mask, and what happens after it is a
factor for a head's output, so all ways in which models write attention are edited alike.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.overrides import TorchFunctionMode

from vizkit.models.recording.edits import Edit, EditError, refuse_impossible
from vizkit.models.recording.recorder import MULTI_HEAD, SOFTMAXES
from vizkit.models.recording.weights import softmax_axis

__all__ = ["NOW", "Editing", "Place", "Plan", "planned"]

NOWHERE = float("-inf")


@dataclass(frozen=True)
class Place:
    """An attention layer of the unchanged model: how many groups and heads, and the token of each key."""

    groups: int
    heads: int
    key_ids: Int[Tensor, "group key"]


@dataclass(frozen=True)
class Plan:
    """Edits, and the layers that they are for, in the order of the pass. `scales`: of every layer, factors for what its
    heads add, of each image of a batch; may be leaves of a graph (the ξ of Michel et al. 2019, § 2.3)."""

    edits: tuple[Edit, ...]
    places: tuple[Place, ...]
    scales: tuple[Float[Tensor, "image _head"], ...] = ()  # layers differ in heads


NOW: ContextVar[Plan | None] = ContextVar("NOW", default=None)
"""The plan that recordings of this thread follow, see `planned`."""


@contextmanager
def planned(plan: Plan) -> Iterator[None]:
    """Every recording of this thread follows the plan meanwhile. EditError for a layer or head that there is not."""
    refuse_impossible(plan.edits, [place.heads for place in plan.places])
    token = NOW.set(plan)
    try:
        yield
    finally:
        NOW.reset(token)


class Editing(TorchFunctionMode):
    """Follows a plan for one forward pass."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan
        self.layer = -1

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return self._fused(func, *args, **kwargs)
        if func is F.multi_head_attention_forward:
            return self._multi_head(func, MULTI_HEAD.bind(*args, **kwargs).arguments)
        if func in SOFTMAXES and softmax_axis(args[0], args, kwargs) is not None:
            return self._softmax(func, args, kwargs)
        return func(*args, **kwargs)

    def _next(self) -> list[Edit]:
        """The edits of the layer that calls now."""
        self.layer += 1
        return [edit for edit in self.plan.edits if edit.concerns(self.layer)]

    def _known(self, groups: int, heads: int) -> Place:
        """The layer that calls now; EditError where its numbers do not lie as (group, head, query, key)."""
        place = self.plan.places[self.layer] if self.layer < len(self.plan.places) else None
        if place is None or place.heads != heads or groups < 1 or groups % place.groups:
            raise EditError(f"Layer {self.layer + 1} of this model computes its attention in a way that is not edited.")
        return place

    def _fused(self, func: Callable, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:  # noqa: ANN401
        edits = self._next()
        if not edits and not self.plan.scales:
            return func(query, key, value, *args, **kwargs)
        options = dict(zip(("attn_mask", "dropout_p", "is_causal"), args, strict=False)) | kwargs
        heads, queries, keys = query.shape[-3], query.shape[-2], key.shape[-2]
        self._known(query.shape[0] if query.dim() == 4 else 1, heads)
        factor = self._factor(edits, heads, query)
        if _scored(edits):
            mask = _as_scores(options.pop("attn_mask", None), options.pop("is_causal", False), queries, keys, query)
            mask = _scaled(mask, factor) + self._unseen(edits, query.shape[0], keys, query)
            query, options["attn_mask"] = query * factor, mask
        out = func(query, key, value, **options)
        return out * self._output(edits, heads, out) if self._weighs(edits) else out

    def _softmax(self, func: Callable, args: tuple, kwargs: dict) -> Tensor:
        edits = self._next()
        if not edits and not self.plan.scales:
            return func(*args, **kwargs)
        scores = args[0]
        if scores.dim() != 4 or softmax_axis(scores, args, kwargs) != -1:
            self._known(-1, -1)
        self._known(*scores.shape[:2])
        heads, keys = scores.shape[1], scores.shape[-1]
        factor = self._factor(edits, heads, scores)
        scores = _scaled(scores, factor) + self._unseen(edits, scores.shape[0], keys, scores)
        weights = func(scores, *args[1:], **kwargs)
        # What the model goes on with; the recorder has seen the weights themselves, whose rows sum to 1.
        return weights * self._output(edits, heads, weights) if self._weighs(edits) else weights

    def _multi_head(self, func: Callable, arguments: dict) -> Any:  # noqa: ANN401
        """torch's own layer projects inside: factors go to the projection of the queries and to that of the output."""
        edits = self._next()
        if not edits and not self.plan.scales:
            return func(**arguments)
        heads, dim = arguments["num_heads"], arguments["embed_dim_to_check"]
        query, key = arguments["query"], arguments["key"]
        self._known(query.shape[1] if query.dim() == 3 else 1, heads)
        changed = dict(arguments)
        if _scored(edits):
            factor = self._factor(edits, heads, query).view(heads, 1).expand(heads, dim // heads).reshape(dim, 1)
            if arguments.get("use_separate_proj_weight"):
                changed["q_proj_weight"] = arguments["q_proj_weight"] * factor
            else:
                weight = arguments["in_proj_weight"]
                changed["in_proj_weight"] = torch.cat([weight[:dim] * factor, weight[dim:]])
            if (bias := arguments.get("in_proj_bias")) is not None:
                changed["in_proj_bias"] = torch.cat([bias[:dim] * factor[:, 0], bias[dim:]])
            mask = _as_scores(arguments.get("attn_mask"), False, query.shape[0], key.shape[0], query)
            mask = _scaled(mask, self._factor(edits, heads, query)) + self._unseen(edits, 1, key.shape[0], query)
            changed["attn_mask"] = mask[0].expand(heads, query.shape[0], key.shape[0])
            changed["is_causal"] = False
        if self._weighs(edits):
            if self.plan.scales and query.dim() == 3 and query.shape[1] > 1:
                raise EditError("A layer of torch's own projects inside: the heads of one image at a time are weighed.")
            columns = (
                self._output(edits, heads, query[:, :1]).view(heads, 1).expand(heads, dim // heads).reshape(1, dim)
            )
            changed["out_proj_weight"] = arguments["out_proj_weight"] * columns
        return func(**changed)

    # ---- what the edits of a layer come to ---------------------------------------------------------------------------
    def _factor(self, edits: Sequence[Edit], heads: int, like: Tensor) -> Tensor:
        """(1, head, 1, 1): 1/T of temperatures, 0 of uniform heads."""
        factor = torch.ones(1, heads, 1, 1, dtype=like.dtype, device=like.device)
        for edit in _of(edits, "temperature"):
            factor[:, _which(edit)] /= edit.value
        for edit in _of(edits, "uniform"):
            factor[:, _which(edit)] = 0.0
        return factor

    def _weighs(self, edits: Sequence[Edit]) -> bool:
        return bool(self.plan.scales or _of(edits, "heads"))

    def _output(self, edits: Sequence[Edit], heads: int, like: Tensor) -> Tensor:
        """(group or 1, head, 1, 1): 0 of heads that add nothing, times the plan's own factors."""
        factor = torch.ones(1, heads, 1, 1, dtype=like.dtype, device=like.device)
        for edit in _of(edits, "heads"):
            factor[:, _which(edit)] = 0.0
        if not self.plan.scales:
            return factor
        scales = self.plan.scales[self.layer].to(like)
        return factor * scales.repeat_interleave(self.plan.places[self.layer].groups, 0)[:, :, None, None]

    def _unseen(self, edits: Sequence[Edit], groups: int, keys: int, like: Tensor) -> Tensor:
        """(group, 1, 1, key): −∞ where a key is not seen. A query that would see nothing at all sees everything."""
        mask = torch.zeros(groups, 1, 1, keys, dtype=like.dtype, device=like.device)
        for edit in _of(edits, "blind"):
            ids = self.plan.places[self.layer].key_ids
            ids = ids.repeat(groups // len(ids), 1)
            if tuple(ids.shape) != (groups, keys):
                raise EditError(f"{edit}: which tokens the keys of this layer are is not known.")
            blind = torch.isin(ids, torch.tensor(edit.tokens, device=ids.device)).to(like.device)
            mask[:, 0, 0][blind & ~blind.all(-1, keepdim=True)] = NOWHERE
        return mask


def _of(edits: Sequence[Edit], kind: str) -> list[Edit]:
    return [edit for edit in edits if edit.kind == kind]


def _scored(edits: Sequence[Edit]) -> bool:
    """Whether something happens before the softmax."""
    return any(edit.kind != "heads" for edit in edits)


def _which(edit: Edit) -> slice | int:
    return slice(None) if edit.head is None else edit.head


def _scaled(scores: Tensor, factor: Tensor) -> Tensor:
    """factor · scores, −∞ staying what it is also times 0."""
    return torch.where(torch.isneginf(scores), scores, scores * factor)


def _as_scores(mask: Tensor | None, causal: bool, queries: int, keys: int, like: Tensor) -> Tensor:
    """A mask of the kernel as numbers that are added to the scores."""
    if causal:
        mask = torch.ones(queries, keys, dtype=torch.bool, device=like.device).tril()
    if mask is None:
        return torch.zeros(1, 1, 1, 1, dtype=like.dtype, device=like.device)
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=like.dtype).masked_fill(~mask, NOWHERE)
    return mask.to(like.dtype)
