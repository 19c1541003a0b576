"""A model as a plain function of pixels to logits, and a copy of it with shuffled weights."""

import copy
from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.sources.loaded import Loaded, outputs_of

MOST_AT_ONCE, BYTES_PER_PIXEL = 32, 2048


def logits_of_batch(loaded: Loaded) -> Callable[[Tensor], Tensor]:
    """(image, channel, height, width), prepared pixels → (image, label), float32, on the model's device.

    Differentiable with respect to the pixels where autograd is on. The whole batch goes through at once: its size is
    the caller's. See `Loaded.logits_of`.
    """

    return lambda pixels: loaded.logits_of(loaded.model(pixels.to(loaded.device, loaded.dtype)), len(pixels))


@torch.no_grad()
def embedding_of(loaded: Loaded, pixels: Tensor) -> Float[Tensor, " output"]:
    """What the model itself returns of one picture, (1, channel, height, width), on the CPU."""
    return outputs_of(loaded.model(pixels.to(loaded.device, loaded.dtype)))[0].cpu()


def batch_within(loaded: Loaded, limit_bytes: int = 2**30) -> int:
    """How many images to run at once, 1 to 32, so that what a gradient keeps of them stays near `limit_bytes`.

    A rough count, that of a ViT-B/16: about 100 MB for an image of 224², in proportion to its pixels.
    """
    height, width = loaded.preprocessing.size_hw
    return min(MOST_AT_ONCE, max(1, limit_bytes // (height * width * BYTES_PER_PIXEL)))


def randomised(loaded: Loaded, seed: int = 0, share: float = 1.0) -> Loaded:
    """A copy whose last `share` (above 0, to 1) of layers has its weights shuffled, each tensor within itself.

    Layers are modules with weights of their own, in the order in which the model holds them, at least the last one.
    Shuffled instead of drawn anew, so that the size of the numbers stays as it was (after Adebayo et al. 2018, arXiv
    1810.03292, § 3.1). Running means of normalisation stay. Raises ValueError for another `share`.
    """
    if not 0 < share <= 1:
        raise ValueError(f"The share of layers is above 0 and at most 1, not {share}.")
    model = copy.deepcopy(loaded.model)
    layers = [module for module in model.modules() if next(module.parameters(recurse=False), None) is not None]
    generator = torch.Generator().manual_seed(seed)
    for layer in layers[-max(1, round(share * len(layers))) :]:
        _shuffle(layer, generator)
    return replace(loaded, model=model, name=f"{loaded.name} (weights shuffled)", trained=False, compared={})


def _shuffle(layer: nn.Module, generator: torch.Generator) -> None:
    with torch.no_grad():
        for weight in layer.parameters(recurse=False):
            order = torch.randperm(weight.numel(), generator=generator).to(weight.device)
            weight.copy_(weight.flatten()[order].view_as(weight))
