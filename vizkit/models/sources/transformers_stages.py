"""Swin, ConvNeXt and ResNet of the transformers library in timm's arguments and names; see `transformers_names`."""

import re
from functools import partial

from torch import nn

from vizkit.models.sources.transformers_names import LAYER, Config, State, Translation, renamed, side

SWIN = {
    r"^embeddings\.norm\.": "patch_embed.norm.",
    **LAYER,
    r"^encoder\.layers\.": "layers.",
    r"\.continuous_position_bias_mlp\.": ".cpb_mlp.",
    r"^head\.": "head.fc.",
}
TABLES = r"(relative_position_index|relative_coords_table|attn_mask|^decoder|mask_token)"


def swin(config: Config, state: State) -> Translation | None:
    """timm merges patches at the start of a stage, transformers at the end of the one before."""
    if config.get("use_absolute_embeddings"):
        return None
    weights = {
        re.sub(r"layers\.(\d+)\.downsample", lambda match: f"layers.{int(match[1]) + 1}.downsample", name): value
        for name, value in renamed(state, SWIN, TABLES).items()
    }
    second = config["model_type"] == "swinv2"
    args = {
        "img_size": side(config["image_size"]),
        "patch_size": side(config["patch_size"]),
        "in_chans": config.get("num_channels", 3),
        "embed_dim": config["embed_dim"],
        "depths": tuple(config["depths"]),
        "num_heads": tuple(config["num_heads"]),
        "window_size": config["window_size"],
        "mlp_ratio": config["mlp_ratio"],
        "qkv_bias": config["qkv_bias"],
        "norm_layer": partial(nn.LayerNorm, eps=float(config["layer_norm_eps"])),
        "num_classes": len(weights.get("head.fc.weight", ())),
    }
    if second:
        args["pretrained_window_sizes"] = tuple(config.get("pretrained_window_sizes") or [0] * len(config["depths"]))
    return Translation("swinv2_tiny_window8_256" if second else "swin_tiny_patch4_window7_224", args, weights)


CONVNEXT = {
    r"^embeddings\.patch_embeddings\.": "stem.0.",
    r"^embeddings\.layernorm\.": "stem.1.",
    r"^encoder\.stages\.": "stages.",
    r"\.downsampling_layer\.": ".downsample.",
    r"\.layers\.": ".blocks.",
    r"\.dwconv\.": ".conv_dw.",
    r"\.layernorm\.": ".norm.",
    r"\.pwconv(\d)\.": r".mlp.fc\1.",
    r"\.grn\.": ".mlp.grn.",
    r"\.layer_scale_parameter$": ".gamma",
    r"^layernorm\.": "head.norm.",
    r"^classifier\.": "head.fc.",
}


def convnext(config: Config, state: State) -> Translation | None:
    if config.get("hidden_act", "gelu") != "gelu":
        return None
    weights = renamed(state, CONVNEXT)
    weights = {name: value.flatten() if ".grn." in name else value for name, value in weights.items()}
    second = config["model_type"] == "convnextv2"
    args = {
        "in_chans": config.get("num_channels", 3),
        "depths": tuple(config["depths"]),
        "dims": tuple(config["hidden_sizes"]),
        "patch_size": config["patch_size"],
        "ls_init_value": 1e-6 if any(name.endswith(".gamma") for name in weights) else None,
        "num_classes": len(weights.get("head.fc.weight", ())),
    }
    return Translation("convnextv2_tiny" if second else "convnext_tiny", args, weights)


RESNET = {
    r"^embedder\.embedder\.convolution\.": "conv1.",
    r"^embedder\.embedder\.normalization\.": "bn1.",
    r"\.shortcut\.convolution\.": ".downsample.0.",
    r"\.shortcut\.normalization\.": ".downsample.1.",
    r"^classifier\.1\.": "fc.",
}
PART = re.compile(r"^encoder\.stages\.(\d+)\.layers\.(\d+)\.")
STEP = re.compile(r"\.layer\.(\d+)\.(convolution|normalization)\.")


def resnet(config: Config, state: State) -> Translation | None:
    """Only with the stem of the paper, which timm's has."""
    sizes, bottleneck = tuple(config["hidden_sizes"]), config.get("layer_type", "bottleneck") == "bottleneck"
    other = config.get("downsample_in_first_stage") or config.get("downsample_in_bottleneck")
    if config["embedding_size"] != 64 or other or config.get("hidden_act", "relu") != "relu" or len(sizes) != 4:
        return None

    def step(match: re.Match) -> str:
        return f".{'conv' if match[2] == 'convolution' else 'bn'}{int(match[1]) + 1}."

    weights = {
        STEP.sub(step, PART.sub(lambda match: f"layer{int(match[1]) + 1}.{match[2]}.", name)): value
        for name, value in renamed(state, RESNET).items()
    }
    args = {
        "in_chans": config.get("num_channels", 3),
        "layers": tuple(config["depths"]),
        "channels": tuple(size // 4 for size in sizes) if bottleneck else sizes,
        "num_classes": len(weights.get("fc.weight", ())),
    }
    return Translation("resnet50" if bottleneck else "resnet18", args, weights)
