"""What the edits of a layer make of its scores, before the softmax: scores ↦ factor · scores + mask."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vizkit.models.recording.edits import Edit, EditError

NOWHERE = float("-inf")


def scored(edits: Sequence[Edit]) -> bool:
    """Whether something happens before the softmax."""
    return any(edit.kind != "heads" for edit in edits)


def which(edit: Edit) -> slice | int:
    """Of the axis of heads."""
    return slice(None) if edit.head is None else edit.head


def factor_of(edits: Sequence[Edit], heads: int, like: Tensor) -> Float[Tensor, "1 head 1 1"]:
    """1/T of temperatures, 0 of heads whose own scores do not matter; the later of two edits of a head holds."""
    factor = torch.ones(1, heads, 1, 1, dtype=like.dtype, device=like.device)
    for edit in edits:
        if edit.kind in ("temperature", "uniform", "frozen"):
            factor[:, which(edit)] = 1 / edit.value if edit.kind == "temperature" else 0.0
    return factor


def edited(
    scores: Float[Tensor, "#group #head #query #key"],
    closed: Bool[Tensor, "#group #head #query #key"],
    edits: Sequence[Edit],
    ids: Int[Tensor, "_group _key"],
    frozen: Mapping[tuple[Edit, int], Float[Tensor, "_group _head _query _key"]],
    layer: int,
    shape: tuple[int, int, int, int],
) -> Float[Tensor, "#group #head #query #key"]:
    """factor · scores, log W where weights W are put in place, and −∞ where a key is not seen. `scores`: or what is
    added to them; `closed`: where the layer itself forbids to look, which no edit opens; `ids`: tokens of the keys;
    `shape`: (group, head, query, key). A query whose edits leave it nothing to look at sees what the layer lets it see.
    """
    seen = ~closed & ~_blind(edits, ids, shape).to(closed.device)
    seen = torch.where(seen.any(-1, keepdim=True), seen, ~closed)
    factor = factor_of(edits, shape[1], scores)
    changed = torch.where(closed, 0.0, scores) * factor
    if any(edit.kind == "frozen" for edit in edits):
        logs = _logs(edits, frozen, layer, shape, scores)
        somewhere = (seen & ~torch.isneginf(logs)).any(-1, keepdim=True)
        changed = changed + torch.where(somewhere, logs, 0.0)
    return torch.where(seen, changed, NOWHERE)


def _blind(
    edits: Sequence[Edit], ids: Int[Tensor, "_group _key"], shape: tuple[int, int, int, int]
) -> Bool[Tensor, "#group 1 1 #key"]:
    """Where a key is one of the tokens that are not seen."""
    tokens = [token for edit in edits if edit.kind == "blind" for token in edit.tokens]
    if not tokens:
        return torch.zeros(1, 1, 1, 1, dtype=torch.bool)
    own = ids.repeat(shape[0] // len(ids), 1)
    if tuple(own.shape) != (shape[0], shape[3]):
        raise EditError(f"blind:…={tokens[0]}: which tokens the keys of this layer are is not known.")
    return torch.isin(own, torch.tensor(tokens, device=own.device))[:, None, None]


def _logs(
    edits: Sequence[Edit],
    frozen: Mapping[tuple[Edit, int], Float[Tensor, "_group _head _query _key"]],
    layer: int,
    shape: tuple[int, int, int, int],
    like: Tensor,
) -> Float[Tensor, "group head query key"]:
    """log W of the heads whose weights are put in place, 0 of all others."""
    groups, heads, queries, keys = shape
    fixed = torch.zeros(shape, dtype=like.dtype, device=like.device)
    for edit in edits:
        if edit.kind in ("temperature", "uniform"):
            fixed[:, which(edit)] = 0.0
        if edit.kind != "frozen":
            continue
        weights = frozen.get((edit, layer))
        if weights is None:
            raise EditError(f"{edit}: the weights to put in place are taken from reference images: give some.")
        own = weights.to(like).log()
        if own.shape[2:] != (queries, keys) or groups % len(own) or own.shape[1] not in (1, heads):
            raise EditError(f"{edit}: the weights to put in place are of other tokens.")
        own = own.expand(-1, heads, -1, -1).repeat(groups // len(own), 1, 1, 1)
        fixed[:, which(edit)] = own[:, which(edit)]
    return fixed


def as_scores(mask: Tensor, like: Tensor) -> Float[Tensor, "#group #head #query #key"]:
    """A mask of the kernel as numbers that are added to the scores; True allows."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=like.dtype).masked_fill(~mask, NOWHERE)
    return mask.to(like.dtype).view((1,) * (4 - mask.dim()) + mask.shape)
