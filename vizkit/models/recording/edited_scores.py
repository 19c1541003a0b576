"""What the edits of a layer make of its scores, before the softmax: scores ↦ factor · scores + mask."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.models.recording.edits import Edit, EditError

__all__ = ["as_scores", "factor_of", "scaled", "scored", "unseen", "which"]

NOWHERE = float("-inf")


def scored(edits: Sequence[Edit]) -> bool:
    """Whether something happens before the softmax."""
    return any(edit.kind != "heads" for edit in edits)


def which(edit: Edit) -> slice | int:
    """Of the axis of heads."""
    return slice(None) if edit.head is None else edit.head


def factor_of(edits: Sequence[Edit], heads: int, like: Tensor) -> Float[Tensor, "1 head 1 1"]:
    """1/T of temperatures, 0 of uniform heads."""
    factor = torch.ones(1, heads, 1, 1, dtype=like.dtype, device=like.device)
    for edit in edits:
        if edit.kind == "temperature":
            factor[:, which(edit)] /= edit.value
        elif edit.kind == "uniform":
            factor[:, which(edit)] = 0.0
    return factor


def unseen(
    edits: Sequence[Edit], ids: Int[Tensor, "_group key"], groups: int, keys: int, like: Tensor
) -> Float[Tensor, "group 1 1 key"]:
    """−∞ where a key is not seen. A query that would see nothing at all sees everything. `ids`: tokens of the keys."""
    mask = torch.zeros(groups, 1, 1, keys, dtype=like.dtype, device=like.device)
    for edit in edits:
        if edit.kind == "blind":
            own = ids.repeat(groups // len(ids), 1)
            if tuple(own.shape) != (groups, keys):
                raise EditError(f"{edit}: which tokens the keys of this layer are is not known.")
            blind = torch.isin(own, torch.tensor(edit.tokens, device=own.device)).to(like.device)
            mask[:, 0, 0][blind & ~blind.all(-1, keepdim=True)] = NOWHERE
    return mask


def scaled(scores: Tensor, factor: Tensor) -> Tensor:
    """factor · scores, −∞ staying what it is also times 0."""
    return torch.where(torch.isneginf(scores), scores, scores * factor)


def as_scores(mask: Tensor | None, causal: bool, queries: int, keys: int, like: Tensor) -> Tensor:
    """A mask of the kernel as numbers that are added to the scores."""
    if causal:
        mask = torch.ones(queries, keys, dtype=torch.bool, device=like.device).tril()
    if mask is None:
        return torch.zeros(1, 1, 1, 1, dtype=like.dtype, device=like.device)
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=like.dtype).masked_fill(~mask, NOWHERE)
    return mask.to(like.dtype)
