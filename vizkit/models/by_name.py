"""Models by names that strangers give, in a link or in a file: timm's, torchvision's, the hub's, the bundled ones."""

import re
from pathlib import Path

import torch

from vizkit import models
from vizkit.models.sources.checkpoint import SUFFIXES
from vizkit.models.sources.creating import known
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loading import Loaded

NAME = r"bundled:\w[\w.-]*@[1-9]\d{0,11}|((bundled|torchvision):)?\w[\w.-]*|hf-hub:\w[\w.-]*/\w[\w.-]*"


def named(source: str, size_hw: tuple[int, int] | None = None, device: str | torch.device | None = None) -> Loaded:
    """A timm name, "bundled:name", "torchvision:name", "owner/name" on the hub, or one of these after "random:" for an
    architecture without its training. Never a path of this machine: every name from a link or a file comes through
    here. Raises ModelError."""
    name = source.removeprefix("random:")
    if "/" in name and not name.startswith("hf-hub:"):
        name = f"hf-hub:{name}"
    if not re.fullmatch(NAME, name, re.ASCII) or Path(name).suffix.lower() in SUFFIXES:
        raise ModelError("Type a timm name, or owner/name for a model on the hub.")
    if ":" not in name:
        name = known(name)  # otherwise a folder of this name, where the app was started, would be opened
    if not source.startswith("random:"):
        return models.load(name, device=device, image_size=size_hw)
    with torch.random.fork_rng(devices=[]):
        # The same random weights every time, so that a link shows the same view. A GPU's generators are let alone.
        torch.default_generator.manual_seed(0)
        return models.load(name, pretrained=False, device=device, image_size=size_hw)
