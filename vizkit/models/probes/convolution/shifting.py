"""A picture moved by some pixels: what a model answers then, and how far its features change.

The inductive bias of convolution is that a thing stays what it is where it moves [LeCun et al. 1998, § II.A]; a network
on single pixels has nothing of the kind, and a transformer learns what it has from pictures.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from vizkit.models.sources.loaded import Loaded

AT_ONCE = 16  # pictures
Pixels = Float[Tensor, "image channel height width"]


class Moved(NamedTuple):
    """`logits`: (distance, image, class). `cosine`: (distance, image), of the features that the last layer reads, with
    those of the unmoved picture."""

    logits: Float[Tensor, "distance image label"]
    cosine: Float[Tensor, "distance image"]


def moved(pixels: Pixels, distance_px: int) -> Pixels:
    """The pictures moved to the right, to the left below 0. What comes in repeats the border, what goes out is lost."""
    columns = torch.arange(pixels.shape[-1], device=pixels.device) - distance_px
    return pixels[..., columns.clamp(0, pixels.shape[-1] - 1)]


def answers_when_moved(loaded: Loaded, pixels: Pixels, distances_px: Sequence[int]) -> Moved:
    """What a model says of its inputs moved by every distance, in pixels of its input. Several distances of few
    pictures go through it at once."""
    together = max(1, AT_ONCE // len(pixels))
    passes = []
    with torch.no_grad():
        still = _features(loaded, pixels)[1]
        for start in range(0, len(distances_px), together):
            batch = [moved(pixels, distance) for distance in distances_px[start : start + together]]
            logits, features = _features(loaded, torch.cat(batch))
            features = features.unflatten(0, (len(batch), len(pixels)))
            cosine = F.cosine_similarity(features, still[None], dim=-1)
            passes.append(Moved(logits.unflatten(0, (len(batch), len(pixels))), cosine))
    return Moved(*(torch.cat(parts) for parts in zip(*passes, strict=True)))


def _features(loaded: Loaded, pixels: Pixels) -> tuple[Tensor, Tensor]:
    """(logits, what the last layer reads); the logits again where a model does not hand that out."""
    model: Any = loaded.model
    if not (hasattr(model, "forward_features") and hasattr(model, "forward_head")):
        outputs = model(pixels)
        return loaded.logits_of(outputs, len(pixels)), outputs
    features = model.forward_features(pixels)
    return loaded.logits_of(model.forward_head(features), len(pixels)), model.forward_head(
        features, pre_logits=True
    ).flatten(1)
