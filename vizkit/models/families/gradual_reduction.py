"""The gradual-reduction ViT of `vizkit.models.networks.gradual_reduction`: fewer tokens after every reduction, each of
which stands for one rectangle of pixels. A reduction is traced as attention with equal weights, like Swin's merging."""

from dataclasses import replace
from typing import Any

from torch import nn

from vizkit.geometry import all_ids, merging
from vizkit.models.families.translate import Translated, attention_of, cam_features, features_of, layer_features
from vizkit.models.families.vit import layer, position_table, special_names
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.recorder import Call, Keep
from vizkit.models.sources.loading import Loaded
from vizkit.traces import Attention, Tokens

__all__ = ["position_table"]


Size = tuple[int, int]

TITLE, SAME_ROWS, IN_TOKENS = "gradual reduction", False, True  # a row is another token after each reduction
MODULES = ("gradual_reduction",)


def tokens_of(model: nn.Module, size_hw: Size) -> tuple[Tokens, ...]:
    return tuple(dict.fromkeys(token_sets(model, size_hw)))


def expected(model: Any) -> int:
    return len(model.blocks)


def step_px(model: Any, size_hw: Size) -> int:
    return int(model.step_px)


def layer_at(model: nn.Module, size_hw: Size, index: int, call: Call) -> Attention:
    return layer(call, token_sets(model, size_hw)[index], call.path)


def token_sets(model: Any, size_hw: Size) -> list[Tokens]:
    """The tokens that each block sees, and after them those that the head gets. Sets of one name are the same.

    `geometry.pixel_box` tells the rectangle that a token stands for.
    """
    grids, special = model.grids_of(size_hw), special_names(model)
    sets = []
    for grid in grids:
        across, down = grids[0][1] // grid[1], grids[0][0] // grid[0]
        name = f"{down}×{across} patches" if (down, across) != (1, 1) else "patches"
        stride = size_hw[1] / grid[1]
        sets.append(Tokens(name, special, grid, stride=stride, aspect=size_hw[0] / grid[0] / stride))
    return sets


def kept(model: nn.Module, keep: Keep) -> Keep:
    """Tokens become fewer, so that a row is not the same token in every layer."""
    return replace(keep, rows=None)


def translated(loaded: Loaded, size_hw: Size, result: Pass) -> Translated:
    model: Any = loaded.model
    sets = token_sets(model, size_hw)
    attention: list[Attention] = []
    for i, (call, tokens, after) in enumerate(zip(result.calls, sets, sets[1:], strict=False)):
        if call.weights is not None:
            ids = all_ids(len(tokens))
            attention.append(attention_of(call, tokens, tokens, ids, ids))
        if after.name != tokens.name:
            attention.append(reduction(i, tokens, after))
    specials = result.specials or (None,) * len(result.maps)
    features = [
        features_of(f"blocks.{i}", values, special, tokens)
        for i, (values, special, tokens) in enumerate(zip(result.maps, specials, sets, strict=False))
    ]
    cam = cam_features(result, sets[-1], sets[-2])
    by_layer = layer_features(result, attention)
    return Translated(attention, features, expected(model), cam=cam, by_layer=by_layer)


def reduction(block: int, before: Tokens, after: Tokens) -> Attention:
    """The averaging after a block, counted from 0, as fixed attention; special tokens have no part in it."""
    assert before.grid is not None
    assert after.grid is not None
    window = (before.grid[0] // after.grid[0], before.grid[1] // after.grid[1])
    source, target = (Tokens(t.name, (), t.grid, stride=t.stride, aspect=t.aspect) for t in (before, after))
    return merging(f"averaging after block {block + 1}", source, target, window)
