"""Convolutional networks: the features of every stage at their places, and the attention that some of them have."""

from torch import nn

from vizkit.geometry import size_of
from vizkit.models.families import generic
from vizkit.models.families.translate import Translated, cam_features, features_of, stage_features, step_of_stages
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.kinds import home
from vizkit.models.sources.loading import Loaded
from vizkit.traces import Tokens

TITLE, SAME_ROWS = "CNN", False
MODULES = ("lenet", "alexnet", "vgg", "resnet", "resnetv2", "densenet", "mobilenetv3", "efficientnet", "regnet")
MODULES += ("byobnet", "convnext")


def expected(model: nn.Module) -> None:
    """Some have attention here and there; it is counted in the pass."""


def step_px(model: nn.Module, size_hw: tuple[int, int]) -> int | None:
    return None if home(model) == "lenet" else step_of_stages(size_hw)


def stage_names(model: nn.Module, count: int) -> list[str]:
    """What its features are called: the layers of LeNet-5 by their own names, others by their number."""
    if home(model) == "lenet":
        return [info["module"].upper() for info in model.feature_info]  # type: ignore[union-attr]
    return [f"stage {i + 1}" for i in range(count)]


def translated(loaded: Loaded, size_hw: tuple[int, int], result: Pass) -> Translated:
    if result.calls:  # HaloNet, global context, CLIP's attention pooling, MobileNetV4's hybrids
        return generic.translated(loaded, size_hw, result)
    features = []
    for name, values in zip(stage_names(loaded.model, len(result.maps)), result.maps, strict=True):
        grid = size_of(values)
        tokens = Tokens(name, (), grid, stride=size_hw[1] / grid[1])
        features.append(features_of(name, values, None, tokens))
    cam = cam_features(result, *(f.tokens for f in reversed(features)))
    return Translated([], features, cam=cam, by_layer=stage_features(result, features))
