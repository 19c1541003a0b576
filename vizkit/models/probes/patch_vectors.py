"""The vectors of patches that dense methods read besides what leaves a block: keys of a layer, and vectors after the
model's own last normalisation."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.probes.parts import watched
from vizkit.models.recording.weights import precise
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import Features, NotApplicable

NORMS = ("norm", "fc_norm", "encoder.ln")
"""What the last normalisation is called: in timm's models, with a mean before it, in torchvision's."""


def keys(loaded: Loaded, pixels: Float[Tensor, "1 channel height width"], layer_index: int) -> Features:
    """What every token is found by in a layer, all heads side by side, as they meet the queries. NotApplicable where
    the layer cannot be taken apart."""
    seen, attention = watched(loaded, pixels, layer_index)
    vectors = precise(seen.key).cpu().transpose(1, 2).flatten(2)  # group key channel
    count, ids = len(attention.key), attention.key_ids.cpu()
    every = vectors.new_zeros(count + 1, vectors.shape[-1])
    every[ids.flatten() % (count + 1)] = vectors.flatten(0, 1)[: ids.numel()]  # padding is all in the last row
    return Features(attention.name, every[:-1], attention.key)


def last_norm(loaded: Loaded, width: int) -> nn.LayerNorm | None:
    """The model's own last normalisation, where it takes vectors of so many numbers."""
    parts = dict(loaded.model.named_modules())
    found = (parts.get(name) for name in NORMS)
    return next((norm for norm in found if isinstance(norm, nn.LayerNorm) and norm.normalized_shape == (width,)), None)


@torch.no_grad()
def normed(loaded: Loaded, features: Features) -> Features:
    """The vectors as the model's last normalisation would leave them. NotApplicable where it takes no such vectors."""
    norm = last_norm(loaded, features.values.shape[1])
    if norm is None:
        numbers = features.values.shape[1]
        raise NotApplicable(f"{loaded.name} has no last normalisation that takes vectors of {numbers} numbers.")
    weight, bias = (None if each is None else each.float().cpu() for each in (norm.weight, norm.bias))
    values = F.layer_norm(features.values.float(), norm.normalized_shape, weight, bias, norm.eps)
    return replace(features, values=values, gradient=None)
