"""ViT and everything with one stream of tokens: DeiT (one or two heads), DINOv2 / DINOv3 registers, EVA and RoPE, BEiT,
SigLIP's attention pooling, mean-pooled and hybrid models, torchvision's ViT (Dosovitskiy et al. 2020; Touvron et al.
2021; Darcet et al. 2023)."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from vizkit.geometry import all_ids
from vizkit.models.families.translate import (
    Translated,
    attention_of,
    cam_features,
    features_of,
    layer_features,
    names_of,
)
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.kinds import home, is_torchvision, kind
from vizkit.models.recording.plan import kept_of
from vizkit.models.recording.recorder import Call
from vizkit.models.sources.loading import Loaded
from vizkit.traces import Attention, Features, Tokens

Size = tuple[int, int]

TITLE, SAME_ROWS, IN_TOKENS = "ViT", True, True
MODULES = ("vision_transformer", "deit", "eva", "beit", "vision_transformer_hybrid", "vision_transformer_relpos")
MODULES += ("vit_from_parts", "named_vits")  # ours: the model and its names

OURS, TWICE = "vizkit.models.networks.vit_from_parts.MultiHeadSelfAttention", "timm.layers.diff_attention.DiffAttention"


def matches(model: nn.Module) -> bool:
    """One list of blocks, one patch embedding, special tokens counted by the model: then the places are known."""
    if is_torchvision(model):
        return hasattr(model, "encoder") and hasattr(model, "class_token")
    return home(model) in MODULES and hasattr(model, "blocks")


def translated(loaded: Loaded, size_hw: Size, result: Pass) -> Translated:
    (tokens,) = tokens_of(loaded.model, size_hw)
    named = zip(result.calls, names_of(result.calls), strict=True)
    attention = [layer(call, tokens, name) for call, name in named if call.weights is not None]
    seen, cam = features(result, tokens), cam_features(result, tokens)
    by_layer = layer_features(result, attention)
    return Translated(attention, seen, expected(loaded.model), cam=cam, by_layer=by_layer)


def expected(model: nn.Module) -> int:
    """One call for every attention module, in the blocks or pooling; differential attention calls twice."""
    if is_torchvision(model):
        return len(model.encoder.layers)  # pyright: ignore
    layers = [m for m in model.modules() if "fused_attn" in vars(m) or kind(m) == OURS]
    return sum(2 if kind(layer) == TWICE else 1 for layer in layers)


def tokens_of(model: nn.Module, size_hw: Size) -> tuple[Tokens]:
    """Special tokens and grid as the model itself counts them; never a square root, never a fixed 14."""
    if is_torchvision(model):
        patch = int(model.patch_size)  # pyright: ignore
        return (Tokens("patches", ("cls",), (size_hw[0] // patch, size_hw[1] // patch), stride=float(patch)),)
    embed: nn.Module = model.patch_embed  # pyright: ignore
    sized = getattr(embed, "dynamic_feat_size", lambda _: embed.grid_size)
    grid = tuple(int(n) for n in sized(size_hw))  # pyright: ignore
    return (Tokens("patches", special_names(model), (grid[0], grid[1]), stride=size_hw[1] / grid[1]),)


def step_px(model: Any, size_hw: Size) -> int | None:
    """A patch, or of a hybrid the cell of its CNN that becomes one."""
    if is_torchvision(model):
        return None
    return round(tokens_of(model, size_hw)[0].stride)


def layer_at(model: nn.Module, size_hw: Size, index: int, call: Call) -> Attention:
    return layer(call, *tokens_of(model, size_hw), call.path)


def position_table(model: Any) -> tuple[str, Tensor, int, Size] | None:
    """(name, table (1, row, channel), number of prefix rows, grid) of learned positions."""
    if is_torchvision(model):
        side = model.image_size // model.patch_size
        return "encoder.pos_embedding", model.encoder.pos_embedding, 1, (side, side)
    table = getattr(model, "pos_embed", None)
    if not isinstance(table, nn.Parameter):
        return None
    prefix = 0 if getattr(model, "no_embed_class", False) else int(model.num_prefix_tokens)
    rows, columns = model.patch_embed.grid_size
    return ("pos_embed", table, prefix, (rows, columns)) if table.shape[1] == prefix + rows * columns else None


def special_names(model: nn.Module) -> tuple[str, ...]:
    """In the order in which timm puts them before the patches: class, distillation, registers."""
    count = int(getattr(model, "num_prefix_tokens", 0))
    first = [name for name, attr in (("cls", "cls_token"), ("dist", "dist_token")) if has(model, attr)][:count]
    return (*first, *(f"reg{i + 1}" for i in range(count - len(first))))


def has(model: nn.Module, attribute: str) -> bool:
    return getattr(model, attribute, None) is not None


def layer(call: Call, tokens: Tokens, name: str) -> Attention:
    assert call.weights is not None
    keys = call.weights.shape[-1]
    kept = kept_of(len(tokens))
    if kept is not None and keys == len(kept):
        ids = torch.tensor([kept])
        return attention_of(call, tokens, tokens, ids, ids, name)
    seen = tokens if keys == len(tokens) else replace(tokens, special=())
    if "attn_pool" in call.path:
        pool = Tokens("pool", tuple(f"pool{i + 1}" if i else "pool" for i in range(call.weights.shape[-2])))
        return attention_of(call, pool, seen, all_ids(len(pool)), all_ids(keys), name)
    return attention_of(call, tokens, seen, all_ids(len(tokens)), all_ids(keys), name)


def features(result: Pass, tokens: Tokens) -> list[Features]:
    kept = kept_of(len(tokens))
    made = []
    for i, (values, special) in enumerate(zip(result.maps, result.specials, strict=True)):
        if kept is not None:  # zeros where a token was dropped
            first = 0 if special is None else len(special)
            whole = values.new_zeros(len(tokens) - first, values.shape[-1])
            whole[[token - first for token in kept[first:]]] = values
            values = whole
        made.append(features_of(f"blocks.{i}", values, special, tokens))
    return made
