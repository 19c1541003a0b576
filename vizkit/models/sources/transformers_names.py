"""ViTs of the transformers library that timm has too: their configuration as timm's arguments, their weights in timm's
names. Nothing of transformers is needed for that; the tests compare the logits.

Each function is given the configuration and the weights, without the prefix of the model inside, and gives the timm
architecture, its arguments and the weights. None where timm has no such model.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

State = dict[str, Tensor]
Config = Mapping[str, Any]
ACTIVATIONS = {"gelu": "gelu", "quick_gelu": "quick_gelu", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}


class Translation(NamedTuple):
    architecture: str
    args: dict[str, Any]
    state: State


def renamed(state: State, names: Mapping[str, str], drop: str = r"$^") -> State:
    """Every pattern replaced in turn; query, key and value stacked as timm keeps them."""
    found: State = {}
    for name, value in state.items():
        if re.search(drop, name):
            continue
        for pattern, ours in names.items():
            name = re.sub(pattern, ours, name)
        found[name] = value
    return stacked(found)


def stacked(state: State) -> State:
    """`….attn.query.weight` and its two companions as `….attn.qkv.weight`; biases too where all three are there."""
    found = dict(state)
    for name in state:
        attention, mark, kind = name.partition(".attn.query.")
        if not mark:
            continue
        query, key, value = (f"{attention}.attn.{part}.{kind}" for part in ("query", "key", "value"))
        if key in found:
            found[f"{attention}.attn.qkv.{kind}"] = torch.cat([found.pop(part) for part in (query, key, value)])
        else:  # BEiT and Swin V2 have no bias of the keys
            found |= {f"{attention}.attn.q_bias": found.pop(query), f"{attention}.attn.v_bias": found.pop(value)}
    return found


LAYER = {
    r"^embeddings\.": "",
    r"^patch_embeddings\.projection\.": "patch_embed.proj.",
    r"^position_embeddings$": "pos_embed",
    r"^register_tokens$": "reg_token",
    r"^encoder\.layer\.": "blocks.",
    r"\.attention\.(attention|self)\.": ".attn.",
    r"\.attention\.output\.dense\.": ".attn.proj.",
    r"\.intermediate\.dense\.": ".mlp.fc1.",
    r"\.output\.dense\.": ".mlp.fc2.",
    r"\.layernorm_before\.": ".norm1.",
    r"\.layernorm_after\.": ".norm2.",
    r"\.layer_scale(\d)\.lambda1$": r".ls\1.gamma",
    r"^layernorm\.": "norm.",
    r"^(cls_)?classifier\.": "head.",
    r"^distillation_classifier\.": "head_dist.",
}
SHOWN_HW = "shown_hw"  # in a configuration, by vizkit: the size that the image processor gives
BESIDE = r"^(pooler\.|decoder|embeddings\.mask_token)"


def side(value: Any) -> tuple[int, int]:
    pair = value if isinstance(value, list | tuple) else (value, value)
    return int(pair[0]), int(pair[1])


def _vit_args(config: Config, state: State) -> dict[str, Any]:
    """What ViT, DeiT, DINOv2, CLIP and SigLIP share."""
    width, head = config["hidden_size"], state.get("head.weight")
    hidden = config.get("intermediate_size") or width * config.get("mlp_ratio", 4)
    return {
        "img_size": side(config["image_size"]),
        "patch_size": side(config["patch_size"]),
        "in_chans": config.get("num_channels", 3),
        "embed_dim": width,
        "depth": config["num_hidden_layers"],
        "num_heads": config["num_attention_heads"],
        "mlp_ratio": hidden / width,
        "qkv_bias": config.get("qkv_bias", True),
        "num_classes": 0 if head is None else head.shape[0],
        "norm_layer": partial(nn.LayerNorm, eps=float(config["layer_norm_eps"])),
    }


def vit(config: Config, state: State) -> Translation:
    weights = renamed(state, LAYER, BESIDE)
    return Translation("vit_base_patch16_224", _vit_args(config, weights), weights)


def deit(config: Config, state: State) -> Translation:
    """With both classifiers it is timm's; with one of them the distillation token only takes part in attention."""
    if "distillation_classifier.weight" in state:
        weights = renamed(state, {**LAYER, r"^distillation_token$": "dist_token"}, BESIDE)
        return Translation("deit_base_distilled_patch16_224", _vit_args(config, weights), weights)
    weights = renamed(state, {**LAYER, r"^distillation_token$": "reg_token"}, BESIDE)
    return Translation("vit_base_patch16_224", {**_vit_args(config, weights), "reg_tokens": 1}, weights)


def dinov2(config: Config, state: State) -> Translation | None:
    """Its classifier also reads the mean of the patches, as none of timm's does."""
    if config.get("use_swiglu_ffn") or "classifier.weight" in state:
        return None
    weights = renamed(state, LAYER, BESIDE)
    args = {**_vit_args(config, weights), "init_values": 1.0}
    if (size := config.get(SHOWN_HW, args["img_size"])) != args["img_size"]:
        # As the library does in every pass, one way with registers and another without.
        places, patch = weights["pos_embed"], args["patch_size"]
        rows, columns = (length // patch for length in args["img_size"])
        grid = places[:, 1:].unflatten(1, (rows, columns)).permute(0, 3, 1, 2).float()
        new_hw = (size[0] // patch, size[1] // patch)
        grid = F.interpolate(grid, new_hw, mode="bicubic", align_corners=False, antialias="reg_token" in weights)
        weights["pos_embed"] = torch.cat([places[:, :1], grid.flatten(2).transpose(1, 2).to(places)], 1)
        args["img_size"] = size
    if "reg_token" in weights:  # inserted after the positions were added, so timm adds that of the class token before
        places = weights["pos_embed"]
        weights |= {"cls_token": weights["cls_token"] + places[:, :1], "pos_embed": places[:, 1:]}
        args |= {"reg_tokens": weights["reg_token"].shape[1], "no_embed_class": True}
    return Translation("vit_base_patch14_dinov2", args, weights)


def beit(config: Config, state: State) -> Translation | None:
    if config.get("use_shared_relative_position_bias") or not config.get("use_mean_pooling", True):
        return None
    names = {
        **LAYER,
        r"\.lambda_(\d)$": r".gamma_\1",
        r"\.relative_position_bias\.relative_position_bias_table$": ".relative_position_bias_table",
        r"^pooler\.layernorm\.": "fc_norm.",
    }
    weights = renamed(state, names, r"(embeddings\.mask_token|relative_position_index)")
    args = _vit_args(config, weights) | {
        "use_rel_pos_bias": bool(config.get("use_relative_position_bias")),
        "use_abs_pos_emb": bool(config.get("use_absolute_position_embeddings")),
        "init_values": config.get("layer_scale_init_value", 0.1) or None,
    }
    return Translation("beit_base_patch16_224", args, weights)


CLIP = {
    r"^vision_model\.": "",
    r"^embeddings\.class_embedding$": "cls_token",
    r"^embeddings\.patch_embedding\.": "patch_embed.proj.",
    r"^embeddings\.position_embedding\.weight$": "pos_embed",
    r"^encoder\.layers\.": "blocks.",
    r"\.layer_norm(\d)\.": r".norm\1.",
    r"\.self_attn\.q_proj\.": ".attn.query.",
    r"\.self_attn\.k_proj\.": ".attn.key.",
    r"\.self_attn\.v_proj\.": ".attn.value.",
    r"\.self_attn\.out_proj\.": ".attn.proj.",
    r"^pre_layrnorm\.": "norm_pre.",
    r"^post_layernorm\.": "norm.",
    r"^visual_projection\.": "head.",
}
TEXT = r"(^text_|^logit_|position_ids$)"


def _vision_of(config: Config) -> Config:
    return config.get("vision_config", config)


def clip(config: Config, state: State) -> Translation | None:
    """The picture tower, also of a model with both. The classifier that transformers adds reads unnormalised tokens."""
    vision, width = _vision_of(config), _vision_of(config)["hidden_size"]
    if "classifier.weight" in state or vision.get("hidden_act", "quick_gelu") not in ACTIVATIONS:
        return None
    weights = renamed(state, CLIP, TEXT)
    weights |= {"cls_token": weights["cls_token"].view(1, 1, width), "pos_embed": weights["pos_embed"][None]}
    if "head.weight" in weights:
        weights["head.bias"] = torch.zeros(len(weights["head.weight"]))
    args = _vit_args({"layer_norm_eps": 1e-5, **vision}, weights) | {"pre_norm": True}
    args["act_layer"] = ACTIVATIONS[vision.get("hidden_act", "quick_gelu")]
    return Translation("vit_base_patch16_clip_224", args, weights)


SIGLIP = {
    **CLIP,
    r"^head\.probe$": "attn_pool.latent",
    r"^head\.attention\.out_proj\.": "attn_pool.proj.",
    r"^head\.layernorm\.": "attn_pool.norm.",
    r"^head\.mlp\.": "attn_pool.mlp.",
}


def siglip(config: Config, state: State) -> Translation | None:
    vision = _vision_of(config)
    if "classifier.weight" in state or vision.get("hidden_act", "gelu_pytorch_tanh") not in ACTIVATIONS:
        return None
    weights = renamed(state, SIGLIP, TEXT)
    weights["pos_embed"] = weights["pos_embed"][None]
    width = vision["hidden_size"]
    for kind in ("weight", "bias"):
        joined = weights.pop(f"head.attention.in_proj_{kind}")
        weights |= {f"attn_pool.q.{kind}": joined[:width], f"attn_pool.kv.{kind}": joined[width:]}
    args = _vit_args({"layer_norm_eps": 1e-6, **vision}, weights)
    args["act_layer"] = ACTIVATIONS[vision.get("hidden_act", "gelu_pytorch_tanh")]
    return Translation("vit_base_patch16_siglip_224", args, weights)
