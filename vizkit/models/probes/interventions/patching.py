"""Activation patching: parts of a clean run are put into a corrupted one, and the answer is read again.

Meng et al. 2022 (arXiv 2202.05262, § 2): where and after which layer what was lost comes back with a patch, the
evidence is there. Whole layers run in batches, each from its own block on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.geometry import size_of
from vizkit.models.families import family
from vizkit.models.probes.importance.means import head_outputs
from vizkit.models.probes.interventions.stream import StreamRunner, streams_of
from vizkit.models.recording.editing import Editing, Place, Plan
from vizkit.models.recording.edits import EditError
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable

BATCH = 32
Grid = tuple[int, int]


@dataclass(frozen=True)
class Patched:
    """Logits of the corrupted run into which something of the clean run was put after block l: one region of a grid
    over the image, one special token, one head's output inside the block (None, and `no_heads` says why), everything,
    nothing. Special tokens are named."""

    clean: Float[Tensor, " label"]
    corrupted: Float[Tensor, " label"]
    regions: Float[Tensor, "layer row column label"]
    special: Float[Tensor, "layer special label"]
    names: tuple[str, ...]
    heads: tuple[Float[Tensor, "_head label"], ...] | None
    no_heads: str
    everything: Float[Tensor, "layer label"]
    nothing: Float[Tensor, "layer label"]


def sides_of(grids: Sequence[Grid], most: int = 16) -> list[Grid]:
    """Grids of regions into which the grids of all layers can be cut, at most so many rows, the finest first."""
    rows, columns = (gcd(*(grid[axis] for grid in grids)) for axis in (0, 1))
    whole = gcd(rows, columns)
    parts = [part for part in range(1, whole + 1) if whole % part == 0]
    fitting = [(rows // part, columns // part) for part in parts]
    return [side for side in fitting if side[0] > 1 and side[1] > 1 and max(side) <= most] or fitting[:1]


def grids_of(loaded: Loaded, streams: Sequence[Tensor], size_hw: Grid) -> tuple[list[Grid], tuple[str, ...]]:
    """The grid of every stream, and the names of the special tokens in front of it."""
    if all(stream.dim() == 4 for stream in streams):
        return [(stream.shape[1], stream.shape[2]) for stream in streams], ()
    known = family(loaded.model).tokens_of(loaded.model, size_hw)
    if len(known) != 1 or known[0].grid is None or any(stream.shape[1] != len(known[0]) for stream in streams):
        raise NotApplicable(f"Where the tokens of {loaded.name} lie in the image is not known after every block.")
    return [known[0].grid] * len(streams), known[0].special


@torch.no_grad()
def patch(
    loaded: Loaded,
    clean: Float[Tensor, "1 channel height width"],
    corrupted: Float[Tensor, "1 channel height width"],
    places: Sequence[Place],
    most: int = 16,
    done: Callable[[float], None] = lambda _: None,
) -> Patched:
    """`places`: the model's layers (`models.attention_places`); `most`: rows of the grid of regions at most, which is
    the finest such grid; `done` hears the share that is done, 0 to 1, and may raise to stop. NotApplicable
    for models without blocks around one stream."""
    own, other = (streams_of(loaded, pixels) for pixels in (clean, corrupted))
    grids, names = grids_of(loaded, own, size_of(clean))
    side = sides_of(grids, most)[0]
    runner, layers = StreamRunner(loaded, corrupted), len(own)
    parts = []
    for layer in range(layers):
        done(layer / (layers + 1))
        masks = masks_of(grids[layer], side, len(names)).to(loaded.device)
        parts.append(run(runner, layer, own[layer], other[layer], masks))
    heads, no_heads = None, ""
    try:
        heads = by_head(loaded, clean, runner, other, tuple(places))
    except (EditError, NotApplicable) as sentence:
        no_heads = str(sentence)
    done(1.0)
    logits = torch.stack(parts).cpu()
    count, special = side[0] * side[1], len(names)
    plain = [loaded.logits_of(loaded.model(pixels.to(loaded.device)))[0].cpu() for pixels in (clean, corrupted)]
    return Patched(
        plain[0],
        plain[1],
        logits[:, :count].unflatten(1, side),
        logits[:, count : count + special],
        names,
        heads,
        no_heads,
        logits[:, -2],
        logits[:, -1],
    )


def masks_of(grid: Grid, side: Grid, special: int) -> Tensor:
    """(region + special + 2, token): which tokens are put in: each region, each special token, all, none."""
    down, right = grid[0] // side[0], grid[1] // side[1]
    region = torch.arange(side[0] * side[1]).view(side).repeat_interleave(down, 0).repeat_interleave(right, 1).flatten()
    token = torch.cat([side[0] * side[1] + torch.arange(special), region])
    masks = token == torch.arange(side[0] * side[1] + special)[:, None]
    return torch.cat([masks, torch.ones_like(masks[:1]), torch.zeros_like(masks[:1])])


def run(runner: StreamRunner, layer: int, own: Tensor, other: Tensor, masks: Tensor) -> Float[Tensor, "mask label"]:
    """`own`: the clean stream after the block, `other` the corrupted one."""
    logits = []
    for some in masks.split(BATCH):
        taken = some.view(-1, *own.shape[1:-1], 1)
        logits.append(runner(layer, torch.where(taken, own, other)))
    return torch.cat(logits)


def by_head(
    loaded: Loaded, clean: Tensor, runner: StreamRunner, other: Sequence[Tensor], places: tuple[Place, ...]
) -> tuple[Float[Tensor, "_head label"], ...]:
    """Each head of each layer gives what it gives in the clean run."""
    if len(places) != len(other):
        raise NotApplicable(f"{loaded.name} has blocks with more or less than one attention layer.")
    outputs, made = head_outputs(loaded, clean, places), []
    for layer, place in enumerate(places):
        count = place.heads
        scales = tuple(
            1 - torch.eye(count) if at == layer else torch.ones(count, each.heads) for at, each in enumerate(places)
        )
        stream = other[layer - 1].expand(count, *(-1,) * (other[0].dim() - 1)) if layer else runner.pixels
        with Editing(Plan((), places, scales, outputs), first=layer):
            made.append(runner(layer - 1, stream if layer else stream.expand(count, -1, -1, -1)).cpu())
    return tuple(made)
