"""Every other model with attention (CaiT, LeViT, PVT, Twins, MaxViT, PiT, VOLO, XCiT, CrossViT, MViTv2 …).

The weights are as true as everywhere. Where the tokens lie is said only when it follows from the model: its own feature
maps for global attention, the window size for the layers in `WINDOWS`. Otherwise the tokens have no grid, and pages say
so instead of guessing.
"""

from collections import Counter
from collections.abc import Callable

from torch import Tensor, nn

from vizkit.geometry import all_ids, window_ids
from vizkit.models.forward import Pass, forward
from vizkit.models.loading import Loaded
from vizkit.models.recording import Call, Keep
from vizkit.models.translate import attention_of, features_of, finish
from vizkit.trace import Attention, Tokens, Trace

Grid = tuple[int, int]

CHANNELS = ("ChannelAttention", "ChannelAttentionV2", "XCA", "CrossCovarianceAttn")
"""Channels attend to channels: a matrix (channel, channel) for each head (El-Nouby et al. 2021; Ding et al. 2022)."""

SCRAMBLED = ("hiera", "naflexvit", "crossvit", "nest", "volo", "byoanet", "coat")
"""Modules of timm whose tokens are not in the row order of one feature map; they need a family of their own."""


def names() -> list[str]:
    import timm

    from vizkit.models import FAMILIES

    known = {name for key, family in FAMILIES.items() if key != "generic" for name in family.names()}
    return [name for name in timm.list_models() if name not in known]


def matches(model: nn.Module) -> bool:
    return True


def trace(loaded: Loaded, pixels: Tensor, *, target: int | None = None, keep: Keep | None = None) -> Trace:
    result = forward(loaded, pixels, keep, target)
    size_hw = (pixels.shape[-2], pixels.shape[-1])
    grids = candidate_grids(loaded.model, result, size_hw)
    count = Counter(call.path for call in result.calls)
    seen: Counter[str] = Counter()
    attention = []
    for call in result.calls:
        seen[call.path] += 1
        name = f"{call.path} · {seen[call.path]}" if count[call.path] > 1 else call.path
        if call.weights is not None:
            attention.append(layer(loaded.model, call, grids, size_hw, name))
    placed = sum(a.query.grid is not None or a.key.grid is not None for a in attention)
    notes = ()
    if placed < len(attention):
        notes = (f"{len(attention) - placed} of {len(attention)} layers have no known places in the image.",)
    features = [
        features_of(f"features {i + 1}", m, None, Tokens("features", (), grid, stride=size_hw[1] / grid[1]))
        for i, m in enumerate(result.maps)
        if m.dim() == 3 and (grid := (m.shape[-2], m.shape[-1]))
    ]
    check_count = expected(loaded.model, result)
    # A module may call several times (one softmax for content, one for position); modules are counted.
    extra = len(result.calls) - len(count)
    return finish(loaded, pixels, target, result, attention, features, check_count + extra, notes)


def expected(model: nn.Module, result: Pass) -> int:
    """How many modules should have been recorded: every instance of each class that was seen to attend."""
    classes = {type(call.module) for call in result.calls if call.module is not None}
    unnamed = sum(call.module is None for call in result.calls)
    return sum(type(module) in classes for module in model.modules()) + unnamed


def candidate_grids(model: nn.Module, result: Pass, size_hw: Grid) -> set[Grid]:
    """Grids that this pass really had: of its feature maps and of its patch embedding."""
    grids = {(m.shape[-2], m.shape[-1]) for m in result.maps if m.dim() == 3}
    embed = getattr(model, "patch_embed", None)
    if hasattr(embed, "dynamic_feat_size"):
        rows, columns = embed.dynamic_feat_size(size_hw)  # pyright: ignore
        grids.add((int(rows), int(columns)))
    # Hierarchical models reduce keys to the grid of a later stage, or start one stage before the first feature map.
    for rows, columns in list(grids):
        grids |= {(-(-rows // 2), -(-columns // 2)), (rows * 2, columns * 2)}
    return grids


def layer(model: nn.Module, call: Call, grids: set[Grid], size_hw: Grid, name: str) -> Attention:
    assert call.weights is not None
    groups, _, queries, keys = call.weights.shape
    queries = queries if call.rows is None else keys  # chosen rows: only self-attention keeps its places
    if type(call.module).__name__ in CHANNELS:
        channels = Tokens("channels", free=queries)
        return attention_of(call, channels, channels, all_ids(queries), all_ids(keys), name)
    windows = windows_of(model, call, grids, size_hw)
    if windows is not None:
        tokens, ids = windows
        return attention_of(call, tokens, tokens, ids, ids, name)
    if groups == 1 and type(model).__module__.rsplit(".", 1)[-1] not in SCRAMBLED:
        query, key = tokens_for(model, queries, grids, size_hw), tokens_for(model, keys, grids, size_hw)
        return attention_of(call, query, key, all_ids(queries), all_ids(keys), name)
    query, key = Tokens("tokens", free=groups * queries), Tokens("tokens", free=groups * keys)
    ids = (all_ids(groups * n).view(groups, n) for n in (queries, keys))
    return attention_of(call, query, key, *ids, name)


def tokens_for(model: nn.Module, count: int, grids: set[Grid], size_hw: Grid) -> Tokens:
    """`count` tokens of global attention: special ones and one of the grids, when only one reading is possible."""
    prefix = int(getattr(model, "num_prefix_tokens", 0) or getattr(model, "num_tokens", 0) or 0)
    names = ("cls", "dist")
    if count <= max(prefix, 1):
        return Tokens("special", names[:count])
    readings = {(p, grid) for p in {0, 1, prefix} for grid in grids if grid[0] * grid[1] + p == count and p <= 2}
    if len(readings) != 1:
        return Tokens("tokens", free=count)
    special, grid = readings.pop()
    return Tokens("patches", names[:special], grid, stride=size_hw[1] / grid[1])


def windows_of(model: nn.Module, call: Call, grids: set[Grid], size_hw: Grid) -> tuple[Tokens, Tensor] | None:
    """Tokens and ids of a windowed layer, when the partition of its class is known and fits one grid."""
    assert call.weights is not None
    rule = WINDOWS.get(type(model).__module__.rsplit(".", 1)[-1])
    found = rule(model, call) if rule and call.weights.shape[-1] == call.weights.shape[-2] else None
    if found is None:
        return None
    window, options = found
    fitting = [
        (grid, ids)
        for grid in grids
        if min(grid) >= 1 and (ids := window_ids(grid, window(grid), **options)).shape == call.weights.shape[::3]
    ]
    if len(fitting) != 1:
        return None
    grid, ids = fitting[0]
    return Tokens("patches", (), grid, stride=size_hw[1] / grid[1]), ids


Rule = Callable[[nn.Module, Call], tuple[Callable[[Grid], Grid], dict] | None]


def maxvit(model: nn.Module, call: Call) -> tuple[Callable[[Grid], Grid], dict] | None:
    """Block attention in windows, grid attention between tokens at equal strides (Tu et al. 2022)."""
    parent = model.get_submodule(call.path.rsplit(".", 1)[0])
    size = getattr(parent, "partition_size", None)
    if size is None:
        return None
    return (lambda _: (size[0], size[1])), {"dilated": not getattr(parent, "partition_block", True)}


def own_window(model: nn.Module, call: Call) -> tuple[Callable[[Grid], Grid], dict] | None:
    """The module or its block keeps the window size: Twins' local attention, DaViT, GCViT, TinyViT, SAM, Swin v2 CR."""
    block = model.get_submodule(call.path.rsplit(".", 1)[0])
    size = getattr(call.module, "ws", None) or getattr(call.module, "window_size", None)
    size = size or getattr(block, "window_size", None) or getattr(block, "window_resolution", None)
    if not size:  # global layers of SAM
        return None
    pair = (size, size) if isinstance(size, int) else (int(size[0]), int(size[1]))
    return (lambda _: pair), {"shift": tuple(getattr(block, "shift_size", (0, 0)))}


def mobilevit(model: nn.Module, call: Call) -> tuple[Callable[[Grid], Grid], dict] | None:
    """Pixels at the same place of every 2×2 patch attend to each other (Mehta & Rastegari 2022)."""
    return (lambda grid: (grid[0] // 2, grid[1] // 2)), {"dilated": True}


WINDOWS: dict[str, Rule] = {
    "maxxvit": maxvit,
    "twins": own_window,
    "davit": own_window,
    "gcvit": own_window,
    "tiny_vit": own_window,
    "vision_transformer_sam": own_window,
    "swin_transformer_v2_cr": own_window,
    "efficientvit_msra": own_window,
    "mobilevit": mobilevit,
}
