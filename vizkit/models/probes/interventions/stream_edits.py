"""Edits outside attention: tokens dropped, positions changed, activations of another run put in, directions added.

They are hooks and tables of a second model that shares all other weights; the first is never touched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.probes import positions
from vizkit.models.probes.interventions.stream import adds_to, blocks_of, outputs_of
from vizkit.models.probes.multiply_adds import copy_with
from vizkit.models.recording.edits import IN_ATTENTION, Edit, EditError
from vizkit.models.recording.gates import carry_over
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable

Directions = Mapping[tuple[int, int], Float[Tensor, "_token _width"]]
"""Of a block, from 0, and a class: what `steer` adds, to every token its own (`probes.interventions.steering`)."""


def with_edits(
    loaded: Loaded,
    edits: Sequence[Edit],
    reference: Float[Tensor, "image channel height width"] | None = None,
    directions: Directions | None = None,
) -> Loaded:
    """A second model with those of the edits that are not about attention; `loaded` itself where there are none.

    `reference`: the mean over its images is put in by "patch". EditError for what cannot be done.
    """
    others = [edit for edit in edits if edit.kind not in IN_ATTENTION]
    if not others:
        return loaded
    try:
        made = loaded
        for edit in others:
            if edit.kind == "positions":
                made = _positioned(made, edit)
        model = copy_with(made.model)
        for edit in others:
            if edit.kind == "drop":
                _drop(made, model, edit)
            elif edit.kind != "positions":
                _hook(made, model, edit, reference, directions or {})
    except NotApplicable as sentence:
        raise EditError(f"{edit}: {sentence}") from None
    twin = replace(made, name=loaded.name, model=model, compared=loaded.compared)
    twin.counted.update(loaded.counted)
    carry_over(loaded.model, model)
    return twin


# ---- positions -------------------------------------------------------------------------------------------------------
def _positioned(loaded: Loaded, edit: Edit) -> Loaded:
    if edit.how == "zero":
        return positions.without_positions(loaded)
    table = positions.absolute(loaded.model)
    if table is None:
        raise NotApplicable(f"{loaded.name} has no learned table of positions whose rows could be exchanged.")
    path, rows, prefix, grid = table
    patches = rows.detach()[0, prefix:]
    if edit.how == "scramble":
        order = torch.randperm(len(patches), generator=torch.Generator().manual_seed(edit.numbers[0]))
        patches = patches[order.argsort().to(patches.device)]  # as if place i of the picture showed patch order[i]
    else:
        patches = patches.unflatten(0, grid).roll(edit.numbers, (0, 1)).flatten(0, 1)
    model = copy_with(loaded.model)
    owner, _, name = path.rpartition(".")
    changed = torch.cat([rows.detach()[0, :prefix], patches])[None]
    setattr(model.get_submodule(owner), name, nn.Parameter(changed, requires_grad=False))
    return replace(loaded, model=model, compared=loaded.compared)


# ---- a shorter sequence ----------------------------------------------------------------------------------------------
def one_sequence(loaded: Loaded) -> int:
    """How many special tokens stand before the patches of a model whose blocks take tokens in any number, for they know
    no places themselves. NotApplicable for others."""
    special = getattr(loaded.model, "num_prefix_tokens", None)
    about_place = set(positions.kind(loaded)) - {"learned", "fixed sinusoids"}
    if special is None or not hasattr(loaded.model, "blocks") or about_place:
        raise NotApplicable(f"{loaded.name} needs every patch in its place.")
    return special


def _drop(loaded: Loaded, model: nn.Module, edit: Edit) -> None:
    """In front of block 1, where the positions have been added."""
    special = one_sequence(loaded)
    if edit.tokens[0] < special:
        raise NotApplicable(f"The first {special} tokens of {loaded.name} are no patches.")

    def shorter(_: nn.Module, given: tuple) -> tuple:
        count = given[0].shape[1]
        if edit.tokens[-1] >= count or len(edit.tokens) >= count - special:
            raise EditError(f"{edit}: the model has {count - special} patches, the last is token {count - 1}.")
        kept = [token for token in range(count) if token not in set(edit.tokens)]
        return given[0][:, kept], *given[1:]

    model.get_submodule(blocks_of(loaded)[0]).register_forward_pre_hook(shorter)


# ---- activations and directions --------------------------------------------------------------------------------------
def _hook(loaded: Loaded, model: nn.Module, edit: Edit, reference: Tensor | None, directions: Directions) -> None:
    blocks = blocks_of(loaded)
    if edit.layer >= len(blocks):
        raise NotApplicable(f"{loaded.name} has {len(blocks)} blocks.")
    path = adds_to(loaded, blocks[edit.layer], edit.how or "stream")
    if edit.kind == "patch":
        if reference is None:
            raise NotApplicable("What is put in is taken from a reference image: give one.")
        change = partial(put_in, edit, outputs_of(loaded, reference, [path])[path].mean(0))
    else:
        direction = directions.get((edit.layer, edit.numbers[0]))
        if direction is None:
            raise NotApplicable("The direction of this class at this block was not given.")
        change = partial(add, edit, direction)

    def changed(_: nn.Module, __: tuple, out: Any) -> Any:
        return change(out)

    model.get_submodule(path).register_forward_hook(changed)


def put_in(edit: Edit, other: Float[Tensor, "*place channel"], out: Tensor) -> Tensor:
    if out.shape[1:] != other.shape:
        raise EditError(f"{edit}: the reference image has other tokens.")
    flat, given = out.flatten(1, -2), other.to(out).flatten(0, -2)
    if edit.tokens and edit.tokens[-1] >= len(given):
        raise EditError(f"{edit}: there are {len(given)} tokens, counted from 0.")
    tokens = list(edit.tokens) or slice(None)
    changed = flat.clone()
    changed[:, tokens] = given[tokens]
    return changed.view(out.shape)


def add(edit: Edit, direction: Float[Tensor, "_row _width"], out: Tensor) -> Tensor:
    if direction.shape[-1] != out.shape[-1] or len(direction) > out[0, ..., 0].numel():
        raise EditError(f"{edit}: the direction is that of another model or image size.")
    return out + edit.value * along(direction.to(out), out)


def along(direction: Float[Tensor, "row channel"], out: Float[Tensor, "image *place channel"]) -> Tensor:
    """A row for each token; the last row is that of all further tokens."""
    count = out[0, ..., 0].numel()
    return direction[torch.arange(count).clamp(max=len(direction) - 1)].view(out.shape[1:])
