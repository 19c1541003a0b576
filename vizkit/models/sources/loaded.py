"""A model ready to be looked at, and what is known about it: preprocessing, class names, licence, origin."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vizkit.image import Preprocessing
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import bytes_of

__all__ = ["NO_LICENCE", "Loaded", "described", "imagenet_labels", "licence_on"]

NO_LICENCE = "none needed (random weights)"
_CARD_LICENCE = re.compile(r"\A---\n(?:.*\n)*?license:\s*(\S+)", re.MULTILINE)  # the front matter of a model card


@dataclass(eq=False)
class Loaded:
    """A model ready to be looked at: in evaluation mode, without parameter gradients, on its device.

    `labels` are the class names in the order of the logits, empty when unknown. `compared` remembers, for each input
    size and kind of recording, whether `forward` believed the features, and how far the logits were apart; `counted`,
    for each input size, how many attention layers a plain pass has. None: unknown;
    `weights_bytes` what `budget` counted; `placed` where the first tokens lie, see `families.measured`. `grid`: (rows,
    columns) of the patches, where the owner of the model has given it. `text_tower`: the folder with the text tower of
    a model that takes its classes as words, see `zero_shot`.
    """

    name: str
    model: nn.Module
    device: torch.device
    preprocessing: Preprocessing
    labels: tuple[str, ...] = ()
    source: str = ""
    licence: str = "not stated"
    trained: bool = True
    grid: tuple[int, int] | None = None
    text_tower: Path | None = None
    compared: dict[tuple, tuple[bool, float]] = field(default_factory=dict)
    # Of these modules alone: `replace` begins anew.
    counted: dict[tuple[int, int], tuple[int | None, int]] = field(default_factory=dict, init=False)
    weights_bytes: dict[tuple[int, int], int] = field(default_factory=dict, init=False)
    placed: dict[tuple[int, int], Any] = field(default_factory=dict, init=False)

    @property
    def parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @property
    def bytes(self) -> int:
        """What the weights and tables of the model take in memory."""
        return bytes_of(self.model)

    @property
    def classifies(self) -> bool:
        """Whether the outputs are classes; a model without a head gives features."""
        return getattr(self.model, "num_classes", 1) > 0

    def label(self, index: int) -> str:
        kind = "class" if self.classifies else "feature"
        return self.labels[index] if index < len(self.labels) else f"{kind} {index}"


def described(
    name: str,
    model: nn.Module,
    size_hw: tuple[int, int] | None,
    source: str,
    *,
    trained: bool = True,
    card: Path | None = None,
    channels: int | None = None,
) -> Loaded:
    """What timm knows about its model. `card`: where to look for a licence that the configuration does not state.

    `channels`: of the input, where the architecture's own are others; of one, mean and deviation are the average of
    the three, as timm makes them.
    """
    import timm.data

    config: dict[str, Any] = dict(getattr(model, "pretrained_cfg", {}) or {})
    resolved = timm.data.resolve_model_data_config(model)
    if size_hw:
        resolved["input_size"] = (resolved["input_size"][0], *size_hw)
        resolved["crop_mode"] = "squash" if size_hw[0] != size_hw[1] else resolved["crop_mode"]
    if channels is not None:
        resolved["input_size"] = (channels, *resolved["input_size"][1:])
        for key in ("mean", "std"):
            resolved[key] = (sum(resolved[key]) / len(resolved[key]),) * channels
    try:
        preprocessing = Preprocessing.from_config(resolved)
    except ValueError as error:
        reason = str(error)
        raise ModelError(f"The preprocessing of {name} makes no sense: {reason[:1].lower()}{reason[1:]}") from None
    licence = str(config.get("license") or licence_on(card) or "not stated")[:80] if trained else NO_LICENCE
    return Loaded(name, model, torch.device("cpu"), preprocessing, _labels_of(model, config), source, licence, trained)


def licence_on(card: Path | None) -> str | None:
    if card is None or not card.is_file():
        return None
    match = _CARD_LICENCE.match(card.read_text(encoding="utf-8", errors="replace")[:10_000])
    return match[1] if match else None


def _labels_of(model: nn.Module, config: dict[str, Any]) -> tuple[str, ...]:
    """Class names from the model's own configuration, else ImageNet's when the number of classes is one of its sets."""
    count = getattr(model, "num_classes", 0)
    names, descriptions = config.get("label_names"), config.get("label_descriptions") or {}
    if isinstance(names, list | tuple) and len(names) == count:
        lookup = descriptions if isinstance(descriptions, dict) else {}
        return tuple(str(lookup.get(str(name), name)) for name in names)
    return imagenet_labels(count)


@cache
def imagenet_labels(count: int) -> tuple[str, ...]:
    """ImageNet's class names in the subset that has this many classes (1k, 12k, 21k, 22k), else none."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset({"num_classes": count})
    return tuple(str(label) for label in ImageNetInfo(subset).label_descriptions()) if subset else ()
