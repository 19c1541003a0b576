"""A DETR by its name, its sizes and the timm name of its backbone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import timm
from torch import nn

from vizkit.models.networks.detr import DETR

NETWORKS: dict[str, dict[str, Any]] = {
    "detr": {},
    "detr_small": {
        "dim": 128,
        "heads": 8,
        "hidden": 512,
        "encoder_depth": 3,
        "decoder_depth": 3,
        "queries": 16,
        "conditional": True,
        "groups": 4,
        "dense": True,
    },
}
"""`detr` as published, with a ResNet-50; `detr_small` learns on a CPU in about two hours."""


@dataclass(frozen=True)
class Backbone:
    """A CNN of timm by its name, and timm's arguments beside it."""

    architecture: str
    model_args: dict[str, Any] = field(default_factory=dict)


def backbone_of(plan: Backbone, *, pretrained: bool = False) -> nn.Module:
    """Without its classifier. ValueError where timm knows no such CNN, or it gives no map of rows and columns."""
    if not plan.architecture.replace("_", "").isalnum():  # a hub's name would be looked up in the network
        raise ValueError(f"{plan.architecture[:60]!r} is no name of timm.")
    options: dict[str, Any] = dict(plan.model_args) | {"num_classes": 0}
    try:
        model = timm.create_model(plan.architecture, pretrained=pretrained, **options)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"{plan.architecture[:60]} cannot be made: {error}") from error
    if not hasattr(model, "forward_features") or not isinstance(getattr(model, "num_features", None), int):
        raise ValueError(f"{plan.architecture[:60]} gives no map of features.")
    return model


def build(name: str, labels: int, backbone: nn.Module, sizes: Mapping[str, Any]) -> DETR:
    """`sizes`: what differs from NETWORKS. Raises KeyError, TypeError or ValueError for sizes that cannot be."""
    return DETR(backbone, int(backbone.num_features), labels, **(NETWORKS[name] | dict(sizes)))  # type: ignore[arg-type]
