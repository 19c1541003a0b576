"""How a model knows where a patch is: learned table, relative bias, rotation, or not at all; and the model without it.

Learned tables: Dosovitskiy et al. 2020 (arXiv 2010.11929), § 3.1. Relative bias: Liu et al. 2021 (arXiv 2103.14030),
eq. 4; continuous: Liu et al. 2022 (arXiv 2111.09883), eq. 4. Rotation: Su et al. 2021 (arXiv 2104.09864), in two
dimensions Heo et al. 2024 (arXiv 2403.13298).
"""

import re
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from vizkit.geometry import size_of
from vizkit.models.families import family, first_grid
from vizkit.models.probes.model_functions import batch_within, logits_of_batch
from vizkit.models.recording.weights import precise
from vizkit.models.sources.loaded import Loaded, copy_with
from vizkit.traces import NotApplicable

Size = tuple[int, int]
ABOUT_PLACE = re.compile(r"(^|[._])(pos(?!t)|rel_pos|relative|rope|cpe|crpe|peg|attention_bias)")


def kind(loaded: Loaded) -> tuple[str, ...]:
    """Which of "learned", "fixed sinusoids", "relative bias" and "rotary" the model has, or several; else ("none",).

    ("other",): parameters for positions are there, but in a form that vizkit cannot lay out. "none" is about tables:
    a convolution or a window knows places all the same.
    """
    model: Any = loaded.model
    kinds = {
        "learned": learned_table(loaded) is not None,
        "fixed sinusoids": bool(_fixed_tables(model)),
        "relative bias": bool(biased_layers(model)),
        "rotary": getattr(model, "rope", None) is not None,
    }
    if any(kinds.values()):
        return tuple(name for name, there in kinds.items() if there)
    names = [name for name, _ in (*model.named_parameters(), *model.named_buffers())]
    return ("other",) if any(ABOUT_PLACE.search(name) for name in names) else ("none",)


def absolute(model: nn.Module) -> tuple[str, Tensor, int, Size] | None:
    """(name, table (1, row, channel), number of prefix rows, grid) of a family's learned positions."""
    table = getattr(family(model), "position_table", None)
    return None if table is None else table(model)


def _fixed_tables(model: nn.Module) -> list[str]:
    """The buffers in which our own networks keep sinusoids."""
    return [name for name, _ in model.named_buffers() if name in ("pos_embed", "pos_table")]


def learned_table(loaded: Loaded) -> Float[Tensor, "row column channel"] | None:
    """The learned position of every patch, without the rows of class, distillation and register tokens."""
    absolute_table = absolute(loaded.model)
    if absolute_table is None:
        return None
    _, table, prefix, grid = absolute_table
    return precise(table.detach()[0, prefix:]).cpu().unflatten(0, grid)


def resampled(loaded: Loaded, grid_hw: Size) -> Float[Tensor, "row column channel"]:
    """The learned table for another grid, as timm resamples it: bicubic, antialiased."""
    from timm.layers import resample_abs_pos_embed

    table = learned_table(loaded)
    if table is None:
        raise NotApplicable(f"{loaded.name} has no learned position table to resample.")
    rows, columns, _ = table.shape
    flat = resample_abs_pos_embed(table.flatten(0, 1)[None], list(grid_hw), [rows, columns], num_prefix_tokens=0)
    return flat[0].unflatten(0, grid_hw)


@dataclass(frozen=True)
class RelativeBias:
    """What a layer adds to its scaled scores.

    `bias`: for every pair of tokens of a window, prefix tokens first. `by_offset[h, M₁−1+dr, M₂−1+dc]`: for a query
    that lies dr rows below and dc columns right of its key. `index`: which entry of the flattened `by_offset` a pair
    of patches picks: bias[h, q, k] = by_offset[h].flatten()[index[q, k]]. `table`: the learned numbers, a row for each
    entry, None where a small network computes them from the offset.
    """

    name: str
    bias: Float[Tensor, "head query key"]
    by_offset: Float[Tensor, "head down right"]
    index: Int[Tensor, "patch patch2"]
    table: Float[Tensor, "entry head"] | None
    window: Size
    prefix: int


def relative_bias(loaded: Loaded, block: int) -> RelativeBias:
    """The relative position bias of layer `block`, in the order of the forward pass (Swin, BEiT, relpos ViT)."""
    layers = biased_layers(loaded.model)
    if not layers:
        raise NotApplicable(f"{loaded.name} has no relative position bias.")
    if not 0 <= block < len(layers):
        raise NotApplicable(f"{loaded.name} has {len(layers)} layers with a relative bias; none is number {block + 1}.")
    name, layer = layers[block]
    sources: list[Any] = [layer, getattr(layer, "rel_pos", None), shared(loaded.model)]  # all that are there add up
    sources = [source for source in sources if _is_source(source)]
    with torch.no_grad():
        bias = precise(torch.stack([_bias_of(source) for source in sources]).sum(0)).cpu()
    rows, columns = (int(n) for n in sources[0].window_size)
    prefix = bias.shape[-1] - rows * columns
    index = offset_index((rows, columns))
    by_offset = bias.new_zeros(len(bias), (2 * rows - 1) * (2 * columns - 1))
    by_offset[:, index.flatten()] = bias[:, prefix:, prefix:].flatten(1)  # pairs of one offset have one bias
    table = getattr(sources[0], "relative_position_bias_table", None)
    table = precise(table.detach()).cpu() if table is not None and table.dim() == 2 else None
    by_offset = by_offset.unflatten(1, (2 * rows - 1, 2 * columns - 1))
    return RelativeBias(name, bias, by_offset, index, table, (rows, columns), prefix)


def offset_index(window: Size) -> Int[Tensor, "patch patch2"]:
    """Swin's index table: (row_q − row_k + M₁−1)·(2M₂−1) + column_q − column_k + M₂−1 for every pair of a window."""
    row, column = torch.meshgrid(torch.arange(window[0]), torch.arange(window[1]), indexing="ij")
    row, column = row.flatten(), column.flatten()
    down, right = row[:, None] - row + window[0] - 1, column[:, None] - column + window[1] - 1
    return down * (2 * window[1] - 1) + right


def _is_source(module: Any) -> bool:
    """Whether a module holds a table of relative positions, or the network that computes one."""
    names = ("relative_position_bias_table", "cpb_mlp", "rel_coords_log")
    return any(getattr(module, name, None) is not None for name in names)


def shared(model: Any) -> nn.Module | None:
    """A bias that all layers share (BEiT in pre-training, some relpos ViTs)."""
    modules = (getattr(model, name, None) for name in ("rel_pos_bias", "shared_rel_pos"))
    return next((module for module in modules if _is_source(module)), None)


def biased_layers(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """(name, attention module) of every layer with a relative bias, in the order of the forward pass."""
    if shared(model) is not None:
        return [(f"blocks.{i}.attn", block.attn) for i, block in enumerate(model.blocks)]  # pyright: ignore
    own = [(n, m) for n, m in model.named_modules() if _is_source(m) or _is_source(getattr(m, "rel_pos", None))]
    return [(name, module) for name, module in own if not name.endswith("rel_pos")]


def _bias_of(source: Any) -> Tensor:
    """The bias by the model's own code, (head, query, key)."""
    methods = ("_get_rel_pos_bias", "get_relative_position_bias", "get_bias")
    method = next((getattr(source, name) for name in methods if hasattr(source, name)), None)
    if method is None and hasattr(source, "cpb_mlp"):
        # Swin v2 in timm does it inside its forward pass: 16·sigmoid(MLP(log offsets)), the window's pairs picked.
        table = source.cpb_mlp(source.relative_coords_table).view(-1, source.num_heads)  # entry head
        return 16 * torch.sigmoid(table[source.relative_position_index]).permute(2, 0, 1)
    bias = source() if method is None else method()
    return bias[0] if bias.dim() == 4 else bias


def rope_waves(loaded: Loaded, block: int = 0) -> Float[Tensor, "head row column channel"]:
    """Sines and cosines of the angles by which every place is rotated: the cosine of two of these vectors is how alike
    the rotations are."""
    rope = getattr(loaded.model, "rope", None)
    if rope is None:
        raise NotApplicable(f"{loaded.name} does not rotate its queries and keys.")
    grid = first_grid(loaded, loaded.preprocessing.size_hw)
    with torch.no_grad():
        angles = precise(rope.get_embed(shape=list(grid))).cpu()  # pyright: ignore[reportCallIssue]
    if angles.dim() == 4:  # layer head place …
        angles = angles[min(max(block, 0), len(angles) - 1)]
    return angles.view(-1, *grid, angles.shape[-1])


def without_positions(loaded: Loaded) -> Loaded:
    """A second model that knows no positions: learned tables and biases zero, nothing rotated. `loaded` is untouched.

    All other weights are shared, so it costs next to no memory. What still knows places: the convolutions of a hybrid,
    the windows and mergings of a Swin.
    """
    if kind(loaded) == ("other",):
        raise NotApplicable(f"How {loaded.name} knows positions cannot be taken out of it.")
    model = copy_with(loaded.model)
    absolute_table = absolute(model)
    if absolute_table is not None:
        _zero(model, absolute_table[0])
    for name in _fixed_tables(model):
        setattr(model, name, torch.zeros_like(getattr(model, name)))
    for name in ("rope", "rel_pos_bias", "shared_rel_pos"):
        if getattr(model, name, None) is not None:
            setattr(model, name, None)
    for module in model.modules():
        without_bias(module)
        if _is_source(getattr(module, "rel_pos", None)):
            module.rel_pos = None
    return replace(loaded, name=f"{loaded.name} without positions", model=model, compared={})


def without_bias(module: nn.Module) -> None:
    """The module itself adds nothing to a score for its place."""
    if hasattr(module, "cpb_mlp"):
        _zero(module, "cpb_mlp.2.weight")  # then every pair gets the same 16·sigmoid(0), which softmax ignores
    elif isinstance(getattr(module, "relative_position_bias_table", None), Tensor):
        _zero(module, "relative_position_bias_table")


def _zero(module: nn.Module, name: str) -> None:
    """Put a new parameter of zeros in the place of one that other models may share."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    setattr(owner, last, nn.Parameter(torch.zeros_like(getattr(owner, last)), requires_grad=False))


def logits_shuffled(
    loaded: Loaded,
    pixels: Float[Tensor, "image channel row column"],
    order: Int[Tensor, " patch"],
    with_positions: bool,
) -> Float[Tensor, "image label"]:
    """Logits of images whose place i shows patch `order[i]`, on the CPU.

    A ViT without positions cannot see the difference. The patches are those of the model's first grid.
    """
    grid = first_grid(loaded, size_of(pixels))
    patch = (pixels.shape[-2] // grid[0], pixels.shape[-1] // grid[1])
    if pixels.shape[-2] % grid[0] or pixels.shape[-1] % grid[1]:
        raise NotApplicable(f"{loaded.name} pads this image, so its patches cannot be exchanged.")
    patches = F.unfold(pixels, patch, stride=patch)[..., order.to(pixels.device)]  # image number patch
    shuffled = F.fold(patches, tuple(pixels.shape[-2:]), patch, stride=patch)
    logits = logits_of_batch(loaded if with_positions else without_positions(loaded))
    with torch.no_grad():
        return torch.cat([logits(some).cpu() for some in shuffled.split(batch_within(loaded))])
