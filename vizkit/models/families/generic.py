"""Every other model with attention (CaiT, LeViT, PVT, Twins, MaxViT, PiT, VOLO, XCiT, CrossViT, MViTv2 …).

The weights are as true as everywhere. Where the tokens lie is said only when it follows from the model: from the grids
of its own feature maps for global attention, from `places` for windows. Otherwise the tokens have no grid, and pages
say so instead of guessing.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from vizkit.geometry import all_ids, size_of
from vizkit.models.families.measured import Placed, given, measured
from vizkit.models.families.outlook import OUTLOOK, by_place
from vizkit.models.families.places import Grid, own_grid, places_of
from vizkit.models.families.translate import AS_SOFTMAX, Translated, attention_of, cam_features, features_of, names_of
from vizkit.models.families.vit import has, special_names
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.kinds import home, kind
from vizkit.models.recording.recorder import Call
from vizkit.models.sources.loading import Loaded
from vizkit.traces import Attention, Tokens

TITLE, SAME_ROWS = "other", False
MODULES = ()

CHANNELS = (
    "timm.models.davit.ChannelAttention",
    "timm.models.davit.ChannelAttentionV2",
    "timm.models.xcit.XCA",
    "timm.models.edgenext.CrossCovarianceAttn",
)
"""Channels attend to channels: a matrix (channel, channel) for each head (El-Nouby et al. 2021; Ding et al. 2022)."""

SLOTS = (
    "timm.models.coat.FactorAttnConvRelPosEnc",
    "timm.models.efficientvim.HSMSSD",
    "timm.layers.lambda_layer.LambdaLayer",
    "timm.models.mobilevit.LinearSelfAttention",
)
"""Linear attention: what asks is a channel or a state, only the keys are tokens (CoaT, EfficientViM, MobileViT v2)."""

POOLED = ("timm.models.nextvit.EfficientAttention",)
"""NextViT pools its keys along the order of the rows, not in squares: they have no cell."""

MEASURED = "Where the patches lie was measured: noise over a part of the image changes the tokens that have seen it."
GIVEN = "Where the patches lie was said by whoever loaded the model; it was not measured."


def matches(model: nn.Module) -> bool:
    return True


def expected(model: nn.Module) -> None:
    """Counted in the pass."""


def translated(loaded: Loaded, size_hw: tuple[int, int], result: Pass) -> Translated:
    """What is known of a pass through any model."""
    tiers = _candidate_grids(loaded.model, result, size_hw)
    strange = home(loaded.model) == ""
    placed = _placed_by_pixels(loaded, result.calls, size_hw) if strange else None
    attention = [
        _by_measured(call, placed, first=call is result.calls[0], name=name)
        if strange
        else layer(loaded.model, call, (own_grid(loaded.model, call.path, result.maps), *tiers), size_hw, name)
        for call, name in zip(result.calls, names_of(result.calls), strict=True)
        if call.weights is not None
    ]
    features = [
        features_of(f"features {i + 1}", m, None, Tokens("features", (), grid, stride=size_hw[1] / grid[1]))
        for i, m in enumerate(result.maps)
        if m.dim() == 3 and (grid := size_of(m))
    ]
    unplaced = sum(a.query.grid is None and a.key.grid is None for a in attention)
    why = "" if result.maps or strange else ": the model gives no feature maps that end in its own prediction"
    notes = (f"{unplaced} of {len(attention)} layers have no known places in the image{why}.",) if unplaced else ()
    if placed is not None:
        notes += (GIVEN if loaded.grid else MEASURED,)
    if strange and result.changed:
        notes += (f"{result.changed} of {len(result.calls)} layers change their weights after the softmax{AS_SOFTMAX}",)
    own = [a.key for a in reversed(attention)]  # the last layer's tokens first; a map has no special ones
    cam = cam_features(result, *own, *(f.tokens for f in reversed(features)))
    return Translated(attention, features, notes=notes, cam=cam)


def _placed_by_pixels(loaded: Loaded, calls: Sequence[Call], size_hw: Grid) -> Placed | None:
    """Where the first tokens of a model from elsewhere lie: as its owner says, else measured, once for each size."""
    weights = next((call.weights for call in calls if call.weights is not None), None)
    if loaded.grid is not None and weights is not None:
        return given(loaded.grid, weights.shape[-1], size_hw)
    if size_hw not in loaded.placed:
        channels = loaded.preprocessing.channels
        loaded.placed[size_hw] = measured(loaded.model, size_hw, channels, loaded.device, loaded.dtype)
    return loaded.placed[size_hw]


def _by_measured(call: Call, placed: Placed | None, first: bool, name: str) -> Attention:
    """The first layer's tokens, in later layers too as long as all of them attend to each other and none is missing:
    which tokens meet in a later window is not known."""
    assert call.weights is not None
    groups, _, queries, keys = call.weights.shape
    queries = queries if call.rows is None else keys

    def side(count: int) -> tuple[Tokens, Tensor]:
        if placed is not None and placed.ids.shape == (groups, count) and (first or groups == 1):
            return placed
        return Tokens("tokens", free=groups * count), all_ids(groups * count).view(groups, count)

    (query, query_ids), (key, key_ids) = side(queries), side(keys)
    return attention_of(call, query, key, query_ids, key_ids, name)


def _candidate_grids(model: nn.Module, result: Pass, size_hw: Grid) -> tuple[set[Grid], set[Grid]]:
    """Grids that this pass really had, of its feature maps and its patch embedding, and grids one step from these.

    Hierarchical models reduce keys to the grid of a later stage, or start one stage before the first feature map.
    """
    real = {size_of(m) for m in result.maps if m.dim() == 3}
    embeds = getattr(model, "patch_embed", None)
    for embed in embeds if isinstance(embeds, nn.ModuleList) else (embeds,):  # CrossViT has two, of fixed size
        if hasattr(embed, "dynamic_feat_size"):
            rows, columns = embed.dynamic_feat_size(size_hw)  # pyright: ignore
            real.add((int(rows), int(columns)))
        elif isinstance(size := getattr(embed, "grid_size", None), tuple):
            real.add((int(size[0]), int(size[1])))
    halved = {(-(-rows // 2), -(-columns // 2)) for rows, columns in real}
    return real, halved | {(rows * 2, columns * 2) for rows, columns in real} | real


def layer(model: nn.Module, call: Call, tiers: tuple[set[Grid], ...], size_hw: Grid, name: str) -> Attention:
    assert call.weights is not None
    groups, _, queries, keys = call.weights.shape
    queries = queries if call.rows is None else keys  # chosen rows: only self-attention keeps its places
    if kind(call.module) in CHANNELS:
        channels = Tokens("channels", free=queries)
        return attention_of(call, channels, channels, all_ids(queries), all_ids(keys), name)
    places = places_of(model, call, tiers)
    if places is not None:
        grid_q, ids_q, grid_k, ids_k = places
        if kind(call.module) == OUTLOOK:
            call, ids_q, ids_k = by_place(call, ids_q, grid_q)
        query, key = (Tokens("patches", (), grid, stride=size_hw[1] / grid[1]) for grid in (grid_q, grid_k))
        return attention_of(call, query, key, ids_q, ids_k, name)
    if groups == 1:
        pooled = kind(call.module) in POOLED and keys < queries
        key = Tokens("pooled", free=keys) if pooled else _tokens_for(model, keys, tiers, size_hw)
        query = (
            Tokens("slots", free=queries) if kind(call.module) in SLOTS else _tokens_for(model, queries, tiers, size_hw)
        )
        return attention_of(call, query, key, all_ids(queries), all_ids(keys), name)
    query, key = Tokens("tokens", free=groups * queries), Tokens("tokens", free=groups * keys)
    return attention_of(
        call,
        query,
        key,
        all_ids(groups * queries).view(groups, queries),
        all_ids(groups * keys).view(groups, keys),
        name,
    )


def _tokens_for(model: nn.Module, count: int, tiers: tuple[set[Grid], ...], size_hw: Grid) -> Tokens:
    """`count` tokens of global attention: special ones and one of the grids, when only one reading is possible."""
    known = special_names(model)
    if count == 1:
        return Tokens("special", known[:1] or (("cls",) if has(model, "cls_token") else ("pool",)))
    specials = {(), ("cls",), known, ("cls", "dist")[: getattr(model, "num_tokens", 1)]}
    for grids in tiers:
        readings = {(s, grid) for s in specials for grid in grids if grid[0] * grid[1] + len(s) == count}
        if len(readings) == 1:
            special, grid = readings.pop()
            return Tokens("patches", special, grid, stride=size_hw[1] / grid[1])
        if readings:
            break
    return Tokens("tokens", free=count)
