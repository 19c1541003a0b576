"""Patch merging taken apart: 2×2 neighbours side by side, LayerNorm, a linear map to half as many numbers.

Liu et al. 2021 (arXiv 2103.14030), § 3.1: 4C → LayerNorm → 2C. Version 2 (Liu et al. 2022, arXiv 2111.09883) maps first
and normalises the 2C numbers.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from vizkit.models.families import swin
from vizkit.models.recording.kinds import is_torchvision
from vizkit.models.recording.weights import precise
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import Features, NotApplicable, Trace

NEIGHBOURS = ((0, 0), (1, 0), (0, 1), (1, 1))
"""(down, right) of the four that become one token, in the order in which they stand side by side: columns first."""


@dataclass(frozen=True)
class Merged:
    """What one merging makes of all tokens. Odd edges are padded with zeros.

    `before`: C numbers for each token. `beside`: 4C, the neighbours in the order of NEIGHBOURS. `normalised`: after
    LayerNorm, 4C where it comes first, else 2C. `mapped`: after the linear map. `after`: what the next stage gets.
    `parts`: the length of what each neighbour puts into `mapped`, which is the sum of the four. `error`: largest
    difference of `after` from what the model's own layer gives.
    """

    norm_first: bool
    before: Float[Tensor, "row column channel"]
    beside: Float[Tensor, "half_row half_column four_channels"]
    normalised: Float[Tensor, "half_row half_column _"]
    mapped: Float[Tensor, "half_row half_column wide"]
    after: Float[Tensor, "half_row half_column wide"]
    parts: Float[Tensor, "half_row half_column 4"]
    error: float


def merged(loaded: Loaded, features: Features, stage: int) -> Merged:
    """The merging after `stage` (from 0) of the tokens that leave it."""
    layer = merging_layer(loaded, stage)
    if features.tokens.grid is None:
        raise NotApplicable("Where these tokens lie is not known, so their neighbours are not either.")
    weight = layer.reduction.weight
    with torch.no_grad():
        before = features.values.to(weight).unflatten(0, features.tokens.grid)
        rows, columns, channels = before.shape
        padded = F.pad(before, (0, 0, 0, columns % 2, 0, rows % 2))
        beside = torch.cat([padded[down::2, right::2] for down, right in NEIGHBOURS], -1)
        norm_first = tuple(layer.norm.normalized_shape) == (4 * channels,)
        entering = layer.norm(beside) if norm_first else beside
        mapped = layer.reduction(entering)
        after = mapped if norm_first else layer.norm(mapped)
        shares = torch.einsum(
            "rcnd,ond->rcno", entering.unflatten(-1, (4, channels)), weight.unflatten(1, (4, channels))
        )
        own = layer(before[None])[0]
    kept = {
        "before": before,
        "beside": beside,
        "normalised": entering if norm_first else after,
        "mapped": mapped,
        "after": after,
        "parts": shares.norm(dim=-1),
    }
    return Merged(norm_first, **{name: precise(each).cpu() for name, each in kept.items()}, error=off(after, own))


def leaving(loaded: Loaded, pixels: Tensor, trace: Trace, stage: int) -> Features:
    """The vectors that leave a stage (from 0): those of the trace, or for torchvision's Swins, which hand out none, of
    the model's first stages run again. `pixels` are (1, channel, height, width)."""
    recorded = [features for features in trace.features if features.tokens.name == f"stage {stage + 1}"]
    if recorded:
        return recorded[-1]
    if not is_torchvision(loaded.model):
        raise NotApplicable(f"{loaded.name} does not hand out the vectors between its stages.")
    model: Any = loaded.model
    tokens = swin.tokens_of(model, trace.image_size)[stage]
    with torch.no_grad():
        values = model.features[: 2 * stage + 2](pixels.to(loaded.device))  # patches, then stages and mergings in turn
    return Features(tokens.name, values[0].flatten(0, 1), tokens)


def off(computed: Tensor, own: Tensor) -> float:
    return float((computed - own).abs().max() / own.abs().max().clamp(min=torch.finfo(own.dtype).tiny))


def merging_layer(loaded: Loaded, stage: int) -> Any:
    """The layer between `stage` and the next; NotApplicable after the last stage, and for models without any."""
    model: Any = loaded.model
    if not swin.matches(model):
        raise NotApplicable(f"{loaded.name} is not a Swin: it merges no patches.")
    torchvision = is_torchvision(model)
    layers = model.features[2::2] if torchvision else [layer.downsample for layer in model.layers[1:]]
    if not 0 <= stage < len(layers):
        raise NotApplicable(f"Stage {stage + 1} is the last one: nothing is merged after it. Choose an earlier stage.")
    return layers[stage]
