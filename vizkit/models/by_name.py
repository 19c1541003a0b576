"""Models by names that strangers give, in a link or in a file: timm's, torchvision's, the hub's, the bundled ones."""

import re
from pathlib import Path

import torch

from vizkit import models
from vizkit.models.sources.creating import known
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loading import Loaded

SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar")


def named(source: str, size_hw: tuple[int, int] | None = None) -> Loaded:
    """A timm name, "bundled:name", "torchvision:name", "owner/name" on the hub, or "random:name" for an architecture
    without its training. Never a path of this machine. Raises ModelError."""
    if source.startswith("random:"):
        with torch.random.fork_rng(devices=[]):
            # The same random weights every time, so that a link shows the same view. A GPU's generators are let alone.
            torch.default_generator.manual_seed(0)
            return models.load(source.removeprefix("random:"), pretrained=False, image_size=size_hw)
    if "/" in source and "\\" not in source and not source.startswith((".", "/", "~", "hf-hub:")):
        source = f"hf-hub:{source}"
    if (
        not re.fullmatch(r"(bundled:|hf-hub:[\w.-]+/|torchvision:)?\w[\w.-]*", source)
        or Path(source).suffix in SUFFIXES
    ):
        raise ModelError("Type a timm name, or owner/name for a model on the hub.")
    if ":" not in source:
        known(source)  # otherwise a folder of this name, where the app was started, would be opened
    return models.load(source, image_size=size_hw)
