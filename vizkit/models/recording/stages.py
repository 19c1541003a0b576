"""torchvision's CNNs cut into stages: they have no `forward_intermediates`, and their features are wanted all the same.

A stage ends where the grid is about to become coarser, as timm cuts its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from vizkit.models.recording.kinds import home, is_torchvision


class Cut(NamedTuple):
    """`stages` run one after the other; `head` reads what leaves the last."""

    stages: Sequence[Callable[[Tensor], Tensor]]
    head: Callable[[Tensor], Tensor]


def gives_features(model: nn.Module) -> bool:
    return hasattr(model, "forward_intermediates") or stages_of(model) is not None


def stages_of(model: Any) -> Cut | None:
    """None for models that are not AlexNet, a VGG or a ResNet of torchvision."""
    if not is_torchvision(model):
        return None
    if home(model) in ("alexnet", "vgg"):
        ends = [i for i, layer in enumerate(model.features) if i and isinstance(layer, nn.MaxPool2d)]
        parts = [model.features[begin:end] for begin, end in zip((0, *ends), (*ends, None), strict=True)]
        return Cut(parts, nn.Sequential(model.avgpool, nn.Flatten(), model.classifier))
    if home(model) == "resnet":
        stem = nn.Sequential(model.conv1, model.bn1, model.relu)
        first = nn.Sequential(model.maxpool, model.layer1)
        stages = (stem, first, model.layer2, model.layer3, model.layer4)
        return Cut(stages, nn.Sequential(model.avgpool, nn.Flatten(), model.fc))
    return None
