"""The first convolution of a model, whose filters look at pixels."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.recording.weights import precise
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable


@dataclass(frozen=True, eq=False)
class FirstLayer:
    """`weight` and `bias` in float32 on the CPU, as the model applies them to its normalised input; `name` is that of
    the module."""

    name: str
    weight: Float[Tensor, "filter channel height width"]
    bias: Float[Tensor, " filter"]
    stride: int
    padding: int


def first_layer(loaded: Loaded) -> FirstLayer:
    """The first module that convolves the channels of the input. NotApplicable for models without one."""
    channels = loaded.preprocessing.channels
    for name, module in loaded.model.named_modules():
        if isinstance(module, nn.Conv2d) and module.in_channels == channels and module.groups == 1:
            weight = precise(module.weight.detach()).cpu()
            bias = torch.zeros(len(weight)) if module.bias is None else precise(module.bias.detach()).cpu()
            padding = 0 if isinstance(module.padding, str) else int(module.padding[0])
            return FirstLayer(name, weight, bias, int(module.stride[0]), padding)
    raise NotApplicable(f"{loaded.name} has no convolution that looks at pixels.")
