"""How much the answer rests on each head: taken away one by one, and estimated by a gradient.

Michel et al. 2019 (arXiv 1905.10650): with ξ_h a factor of what head h adds, the measured importance is what the loss
gains at ξ_h = 0 (§ 3), the estimate |∂L/∂ξ_h| at 1, from one backward pass for all heads (§ 4.1, eq. 5). With `means`
the head gives its mean instead of nothing, and ξ_h leads from the mean to what it gives. A model without classes loses
likeness: the cosine of its embedding with that of the unchanged model, which is 1 and has no slope there.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cosine_similarity

from vizkit.models.recording.editing import Editing, Place, Plan
from vizkit.models.recording.edits import Edit
from vizkit.models.sources.loaded import Loaded

Pixels = Float[Tensor, "image channel height width"]
Means = tuple[Float[Tensor, "_group _head _query _channel"], ...]


def removed(layer: int, head: int, means: Means) -> Edit:
    """The edit that takes a head away: it gives its mean, or nothing where there are no means."""
    return Edit("heads", layer, head, how="mean" if means else "")


@dataclass(frozen=True)
class Importance:
    """Of each image and of heads in the order of `names`, (layer, head) from 0: `lost`, what log p of the target loses,
    in nats, when a head is taken away; `flipped`, 1 where the target is then no longer the first choice; `estimate`,
    |∂ log p / ∂ξ|. `plain`: log p of the target, unchanged."""

    names: tuple[tuple[int, int], ...]
    plain: Float[Tensor, " image"]
    lost: Float[Tensor, "image head"]
    flipped: Float[Tensor, "image head"]
    estimate: Float[Tensor, "image head"]


def head_importance(
    loaded: Loaded,
    pixels: Pixels,
    targets: Int[Tensor, " image"],
    places: Sequence[Place],
    means: Means = (),
) -> Importance:
    """Of a batch of images. `places`: the model's layers (`models.attention_places`). `means`: what a head gives
    instead (`means.head_means`); nothing without them. EditError for a model whose attention cannot be edited."""
    places, pixels = tuple(places), pixels.to(loaded.device)
    rows, targets = torch.arange(len(targets)), targets.to(loaded.device)
    plain, estimate = head_estimates(loaded, pixels, targets, places, means)
    lost, flipped = [], []
    for outputs in _without_each(loaded, pixels, places, means):
        lost.append(plain - outputs.log_softmax(-1)[rows, targets])
        flipped.append((outputs.argmax(-1) != targets).float())
    flips = torch.stack(flipped, 1).cpu()
    return Importance(_names(places), plain.cpu(), torch.stack(lost, 1).cpu(), flips, estimate)


def head_estimates(
    loaded: Loaded,
    pixels: Pixels,
    targets: Int[Tensor, " image"],
    places: Sequence[Place],
    means: Means = (),
) -> tuple[Float[Tensor, " image"], Float[Tensor, "image head"]]:
    """Of these alone `plain` and `estimate`: one pass there and one back for all heads."""
    places, pixels = tuple(places), pixels.to(loaded.device)
    rows, targets = torch.arange(len(targets)), targets.to(loaded.device)
    scales = tuple(torch.ones(len(pixels), place.heads, device=loaded.device, requires_grad=True) for place in places)
    with torch.enable_grad():
        answered = _outputs(loaded, pixels, Plan((), places, scales, means)).log_softmax(-1)[rows, targets]
        gradients = torch.autograd.grad(answered.sum(), scales)
    return answered.detach(), torch.cat(gradients, 1).abs().cpu()


@torch.no_grad()
def likeness_lost(
    loaded: Loaded,
    pixels: Pixels,
    places: Sequence[Place],
    means: Means = (),
) -> Importance:
    """The same of a model without classes: `lost` is what is missing from 1, 0 to 2, in the cosine of each image's
    embedding with its own of the unchanged model, which is `plain`; what follows from classes is NaN."""
    places, pixels = tuple(places), pixels.to(loaded.device)
    own = _outputs(loaded, pixels, Plan((), places, means=means))
    fallen = [1 - cosine_similarity(own, each) for each in _without_each(loaded, pixels, places, means)]
    lost = torch.stack(fallen, 1).cpu()
    unknown = torch.full_like(lost, math.nan)
    return Importance(_names(places), torch.ones(len(pixels)), lost, unknown, unknown)


def _names(places: Sequence[Place]) -> tuple[tuple[int, int], ...]:
    return tuple((layer, head) for layer, place in enumerate(places) for head in range(place.heads))


def _outputs(loaded: Loaded, pixels: Pixels, plan: Plan) -> Float[Tensor, "image output"]:
    with Editing(plan):
        return loaded.logits_of(loaded.model(pixels), len(pixels))


@torch.no_grad()
def _without_each(
    loaded: Loaded,
    pixels: Pixels,
    places: tuple[Place, ...],
    means: Means,
) -> Iterator[Float[Tensor, "image output"]]:
    """Outputs with each head taken away alone, in the order of `_names`."""
    for layer, head in _names(places):
        yield _outputs(loaded, pixels, Plan((removed(layer, head, means),), places, means=means))
