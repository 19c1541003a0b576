"""Where the tokens of less regular layers lie: windows, halos, mask units. Each rule is proven by a probe in
`tests/test_families.py`: noise in one cell of the picture must move the very tokens that the rule puts there."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from vizkit.geometry import cut, regions, window_ids
from vizkit.models.families import outlook
from vizkit.models.recording.kinds import home, is_torchvision, kind
from vizkit.models.recording.recorder import Call
from vizkit.traces import PADDING, Attention

Grid = tuple[int, int]
Places = tuple[Grid, Tensor, Grid, Tensor]
"""Grid and ids of the queries, grid and ids of the keys."""


def places_of(model: nn.Module, call: Call, tiers: Iterable[set[Grid]]) -> Places | None:
    """Both token sets of a layer whose class has a rule; None when no rule fits one grid only."""
    assert call.weights is not None
    groups, _, queries, keys = call.weights.shape
    rule = _rule_of(model, call)
    if rule is None or call.rows is not None:
        return None
    for grids in tiers:
        candidates = [rule(model, call, grid) for grid in sorted(grids)]
        fitting = [
            places
            for places in candidates
            if places and places[1].shape == (groups, queries) and places[3].shape == (groups, keys)
        ]
        if fitting:
            return fitting[0] if len(fitting) == 1 else None
    return None


def own_grid(model: nn.Module, path: str, maps: tuple[Tensor, ...]) -> set[Grid]:
    """The grid of the stage that holds a layer, where the model gives one feature map for every stage."""
    name, _, rest = path.partition(".")
    index = rest.partition(".")[0]
    stages = getattr(model, name, None)
    known = isinstance(stages, nn.Sequential | nn.ModuleList) and len(stages) == len(maps) and index.isdecimal()
    return {(maps[int(index)].shape[-2], maps[int(index)].shape[-1])} if known else set()


def _rule_of(model: nn.Module, call: Call) -> "Rule | None":
    """By the class of the attention, else by the file of timm that defines the nearest module around it."""
    path, rule = call.path, RULES.get(kind(call.module))
    while rule is None and path:
        path = path.rpartition(".")[0]
        rule = RULES.get(home(model.get_submodule(path)))
    return rule


def same(grid: Grid, ids: Tensor) -> Places:
    return grid, ids, grid, ids


def _partitioned(model: nn.Module, call: Call, grid: Grid) -> Places | None:
    """MaxViT: attention in windows, then between tokens at equal strides (Tu et al. 2022)."""
    block = parent(model, call)
    size = getattr(block, "partition_size", None)
    if size is None:
        return None
    return same(grid, window_ids(grid, (size[0], size[1]), dilated=not getattr(block, "partition_block", True)))


def _own_window(model: nn.Module, call: Call, grid: Grid) -> Places | None:
    """The layer or its block keeps the window: Twins' local attention, DaViT, GCViT, TinyViT, SAM, Swin v2 CR, NesT.

    Where queries are pooled (SAM 2), a window of the keys is a smaller window of the queries.
    """
    block = parent(model, call)
    names = ((call.module, "ws"), (call.module, "window_size"), (block, "window_size"), (block, "window_resolution"))
    size = next((size for owner, name in names if (size := getattr(owner, name, None))), 0)
    window = (size, size) if isinstance(size, int) else (int(size[0]), int(size[1]))
    if not all(window):  # the global layers of SAM and SAM 2
        return None
    down, right = getattr(block, "shift_size", (0, 0))
    ids = window_ids(grid, window, (int(down), int(right)))
    pool = getattr(block, "q_stride", None)
    if not pool:
        return same(grid, ids)
    smaller = (-(-grid[0] // pool[0]), -(-grid[1] // pool[1]))
    return smaller, window_ids(smaller, (window[0] // pool[0], window[1] // pool[1])), grid, ids


def blocks(model: nn.Module, call: Call, grid: Grid) -> Places | None:
    """NesT: square blocks of one size in every level (Zhang et al. 2022)."""
    size = int(model.get_submodule(call.path.split(".transformer_encoder")[0]).block_size)  # pyright: ignore
    return same(grid, window_ids(grid, (size, size)))


def _same_corner(model: nn.Module, call: Call, grid: Grid) -> Places | None:
    """MobileViT: pixels at the same place of every patch attend to each other (Mehta & Rastegari 2022)."""
    patch: Any = model.get_submodule(call.path.split(".transformer")[0]).patch_size
    rows, columns = (int(n) for n in patch)
    if grid[0] % rows or grid[1] % columns:
        return None
    return same(grid, window_ids(grid, (grid[0] // rows, grid[1] // columns), dilated=True))


def _halo(model: nn.Module, call: Call, grid: Grid) -> Places | None:
    """HaloNet: a block of queries sees its own keys and a rim around them (Vaswani et al. 2021)."""
    size, rim, stride = (int(getattr(call.module, name)) for name in ("block_size", "halo_size", "block_stride"))
    if grid[0] % size or grid[1] % size:
        return None
    index = torch.nn.functional.pad(torch.arange(grid[0] * grid[1]).view(grid), (rim,) * 4, value=PADDING)
    keys = index.unfold(0, size + 2 * rim, size).unfold(1, size + 2 * rim, size)  # block row, block column, row, column
    smaller = (grid[0] // stride, grid[1] // stride)
    return smaller, window_ids(smaller, (size // stride, size // stride)), grid, keys.flatten(2).flatten(0, 1)


def _mask_units(model: nn.Module, call: Call, grid: Grid) -> Places | None:
    """Hiera: tokens in the order of its own `unroll`, each pooling halves the grid (Ryali et al. 2023)."""
    assert call.weights is not None
    groups, _, queries, keys = call.weights.shape
    rows, columns = (int(n) for n in model.unroll.size)  # pyright: ignore
    if grid != (rows, columns):
        return None
    order = model.unroll(torch.arange(rows * columns).view(1, -1, 1)).flatten()  # pyright: ignore

    def placed(count: int) -> tuple[Grid, Tensor]:
        step = round((rows * columns / count) ** 0.5)
        first = order.view(step * step, -1)[0]  # pooling takes the maximum over the first axis
        ids = first // columns // step * (columns // step) + first % columns // step
        return (rows // step, columns // step), ids.view(-1, groups).T

    return (*placed(groups * queries), *placed(groups * keys))


def regions_of(model: nn.Module, layer: Attention) -> Tensor | None:
    """Of the layer's windows, (window, token), where they are rolled: only tokens of one region may meet. Swin v1 and
    v2 of timm and torchvision, and v2 CR; None for all others."""
    try:
        attention = model.get_submodule(layer.name)
        block = attention if is_torchvision(model) else model.get_submodule(layer.name.rpartition(".")[0])
        high, wide, down, right = (int(n) for n in (*block.window_size, *block.shift_size))  # pyright: ignore
    except (AttributeError, TypeError):
        return None
    if layer.key.grid is None:
        return None
    rows, columns = (-(-side // extent) * extent for side, extent in zip(layer.key.grid, (high, wide), strict=True))
    # One window that covers an axis is not shifted along it.
    shift = (down if high < rows else 0, right if wide < columns else 0)
    found = cut(regions((rows, columns), (high, wide), shift), (high, wide))
    return found if any(shift) and found.shape == layer.key_ids.shape else None


def parent(model: nn.Module, call: Call) -> nn.Module:
    return model.get_submodule(call.path.rsplit(".", 1)[0])


Rule = Callable[[nn.Module, Call, Grid], Places | None]

RULES: dict[str, Rule] = {
    "timm.layers.halo_attn.HaloAttn": _halo,
    "timm.models.hiera.MaskUnitAttention": _mask_units,
    outlook.OUTLOOK: outlook.windows,
    "maxxvit": _partitioned,
    "nest": blocks,
    "mobilevit": _same_corner,
    "twins": _own_window,
    "davit": _own_window,
    "gcvit": _own_window,
    "tiny_vit": _own_window,
    "vision_transformer_sam": _own_window,
    "hieradet_sam2": _own_window,
    "swin_transformer_v2_cr": _own_window,
    "efficientvit_msra": _own_window,
}
