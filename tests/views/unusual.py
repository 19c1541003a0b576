"""Models as people open them and no page was made for: other families, heads of other kinds, inputs that are oblong."""

from typing import NamedTuple

import timm
import torch

import vizkit


class Unusual(NamedTuple):
    """A small model of a timm architecture with random weights. `head`: "" where it says nothing of its head."""

    architecture: str
    size_hw: tuple[int, int]
    sizes: dict
    head: str = ""


VIT = {"embed_dim": 48, "depth": 3, "num_heads": 3}
UNUSUAL = {
    "no classes": Unusual("vit_small_patch14_dinov2", (56, 56), VIT | {"img_size": 56, "num_classes": 0}),
    "convnext": Unusual("convnext_atto", (64, 64), {"depths": (1, 1, 1, 1), "dims": (16, 24, 32, 40)}),
    "swinv2": Unusual(
        "swinv2_tiny_window8_256",
        (64, 64),
        {"img_size": 64, "window_size": 4, "embed_dim": 24, "depths": (1, 2), "num_heads": (2, 3)},
    ),
    "eva02": Unusual("eva02_tiny_patch14_224", (56, 56), {"img_size": 56, "depth": 2}),
    "registers, no class token": Unusual(
        "vit_small_patch16_224",
        (64, 64),
        VIT | {"img_size": 64, "class_token": False, "reg_tokens": 4, "global_pool": "avg"},
    ),
    "mobilevit": Unusual("mobilevit_xxs", (64, 64), {}),
    "maxvit": Unusual("maxvit_rmlp_pico_rw_256", (64, 64), {"img_size": 64}),
    "distilled": Unusual("deit_tiny_distilled_patch16_224", (64, 64), VIT | {"img_size": 64}),
    "oblong": Unusual("vit_tiny_patch16_224", (64, 128), VIT | {"img_size": (64, 128)}),
    "one label": Unusual("vit_tiny_patch16_224", (64, 64), VIT | {"img_size": 64, "num_classes": 1}, "sigmoid"),
    "one value": Unusual("vit_tiny_patch16_224", (64, 64), VIT | {"img_size": 64, "num_classes": 1}, "regression"),
    "a CNN without classes": Unusual("resnet18", (64, 64), {"num_classes": 0}),
}


def opened(name):
    """The same weights every time."""
    architecture, size_hw, sizes, head = UNUSUAL[name]
    with torch.random.fork_rng():
        torch.manual_seed(4)
        module = timm.create_model(architecture, pretrained=False, **{"num_classes": 3} | sizes)
    return vizkit.wrap(module, size_hw=size_hw, **({"head": head} if head else {}))
