"""Small models with random weights, and their traces for one class. Do not change them: many tests share them."""

import pytest
import timm
import torch

from tests.drawn import noise, seeded
from vizkit.models import families
from vizkit.models.sources.loaded import described

SIZE = (48, 80)
GRID = (3, 5)
TARGET = 3
SWIN = {"depths": (2, 2), "num_heads": (1, 2), "embed_dim": 24, "window_size": 4, "img_size": (40, 56)}


def made(name, **options):
    """A small model with random weights large enough that its attention and its gradients are not even."""
    options |= {} if name == "test_resnet" or "img_size" in options else {"img_size": SIZE}
    with seeded(2):
        model = timm.create_model(name, pretrained=False, num_classes=5, **options).eval().requires_grad_(False)
        for path, weight in model.named_parameters():
            if path.endswith("qkv.weight"):
                weight.mul_(6)
            elif "norm" in path or path.endswith("bias"):
                weight.add_(torch.randn_like(weight) / 5)
            elif path.endswith((".gamma", "head.weight", "fc.weight")):
                weight.normal_()
    return described(name, model, options.get("img_size", SIZE), source="test")


def image(seed, size_hw=SIZE):
    return noise(1, 3, *size_hw, seed=seed)


def traced(loaded, pixels, target=TARGET):
    return families.trace(loaded, pixels, target=target)


@pytest.fixture(scope="session")
def small_vit():
    return made("test_vit", depth=3)


@pytest.fixture(scope="session")
def small_resnet():
    return made("test_resnet")


@pytest.fixture(scope="session")
def small_swin():
    return made("swin_tiny_patch4_window7_224", **SWIN)
