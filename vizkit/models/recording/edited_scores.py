"""What the edits of a layer make of its scores, before the softmax: scores ↦ factor · scores + mask."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.models.recording.edits import Edit, EditError

__all__ = ["as_scores", "factor_of", "mask_of", "scaled", "scored", "which"]

NOWHERE = float("-inf")


def scored(edits: Sequence[Edit]) -> bool:
    """Whether something happens before the softmax."""
    return any(edit.kind != "heads" for edit in edits)


def which(edit: Edit) -> slice | int:
    """Of the axis of heads."""
    return slice(None) if edit.head is None else edit.head


def factor_of(edits: Sequence[Edit], heads: int, like: Tensor) -> Float[Tensor, "1 head 1 1"]:
    """1/T of temperatures, 0 of heads whose own scores do not matter."""
    factor = torch.ones(1, heads, 1, 1, dtype=like.dtype, device=like.device)
    for edit in edits:
        if edit.kind == "temperature":
            factor[:, which(edit)] /= edit.value
        elif edit.kind in ("uniform", "frozen"):
            factor[:, which(edit)] = 0.0
    return factor


def mask_of(
    edits: Sequence[Edit],
    ids: Int[Tensor, "_group key"],
    frozen: Mapping[tuple[Edit, int], Float[Tensor, "_group _head _query _key"]],
    layer: int,
    shape: tuple[int, int, int, int],
    like: Tensor,
) -> Float[Tensor, "_group _head _query key"]:
    """−∞ where a key is not seen; log W where weights W are put in place. A query that would see nothing at all sees
    everything. `ids`: tokens of the keys; `shape`: (group, head, query, key) of the scores."""
    groups, heads, queries, keys = shape
    mask = torch.zeros(groups, 1, 1, keys, dtype=like.dtype, device=like.device)
    for edit in edits:
        if edit.kind == "blind":
            own = ids.repeat(groups // len(ids), 1)
            if tuple(own.shape) != (groups, keys):
                raise EditError(f"{edit}: which tokens the keys of this layer are is not known.")
            blind = torch.isin(own, torch.tensor(edit.tokens, device=own.device)).to(like.device)
            mask[:, 0, 0][blind & ~blind.all(-1, keepdim=True)] = NOWHERE
    logs = [(edit, frozen.get((edit, layer))) for edit in edits if edit.kind == "frozen"]
    if not logs:
        return mask
    fixed = torch.zeros(shape, dtype=like.dtype, device=like.device)
    for edit, weights in logs:
        if weights is None:
            raise EditError(f"{edit}: the weights to put in place are taken from reference images: give some.")
        own = weights.to(like).log()
        if own.shape[2:] != (queries, keys) or groups % len(own) or own.shape[1] not in (1, heads):
            raise EditError(f"{edit}: the weights to put in place are of other tokens.")
        own = own.expand(-1, heads, -1, -1).repeat(groups // len(own), 1, 1, 1)
        fixed[:, which(edit)] = own[:, which(edit)]
    return fixed + mask


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
