"""How much the answer rests on each head: taken away one by one, and estimated by a gradient.

Michel et al. 2019 (arXiv 1905.10650): with ξ_h a factor of what head h adds, the measured importance is what the loss
gains at ξ_h = 0 (§ 3), the estimate |∂L/∂ξ_h| at 1, from one backward pass for all heads (§ 4.1, eq. 5). With `means`
the head gives its mean instead of nothing, and ξ_h leads from the mean to what it gives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.models.recording.editing import Editing, Place, Plan
from vizkit.models.recording.edits import Edit
from vizkit.models.sources.loaded import Loaded

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
    pixels: Float[Tensor, "image channel height width"],
    targets: Int[Tensor, " image"],
    places: Sequence[Place],
    done: Callable[[float], None] = lambda _: None,
    means: Means = (),
) -> Importance:
    """Of a batch of images. `places`: the model's layers (`models.attention_places`); `done` hears the share that is
    done, 0 to 1, and may raise to stop. `means`: what a head gives instead (`means.head_means`); nothing without them.
    EditError for a model whose attention cannot be edited."""
    names = tuple((layer, head) for layer, place in enumerate(places) for head in range(place.heads))
    places, pixels = tuple(places), pixels.to(loaded.device)

    rows, targets = torch.arange(len(targets)), targets.to(loaded.device)

    def log_p(plan: Plan) -> Float[Tensor, "image label"]:
        with Editing(plan):
            return loaded.logits_of(loaded.model(pixels), len(pixels)).log_softmax(-1)

    scales = tuple(torch.ones(len(pixels), place.heads, device=loaded.device, requires_grad=True) for place in places)
    with torch.enable_grad():
        answered = log_p(Plan((), places, scales, means))[rows, targets]
        gradients = torch.autograd.grad(answered.sum(), scales)
    plain = answered.detach()
    lost, flipped = [], []
    for number, (layer, head) in enumerate(names):
        done(number / len(names))
        with torch.no_grad():
            without = log_p(Plan((removed(layer, head, means),), places, means=means))
        lost.append(plain - without[rows, targets])
        flipped.append((without.argmax(-1) != targets).float())
    done(1.0)
    estimate = torch.cat(gradients, 1).abs().cpu()
    return Importance(names, plain.cpu(), torch.stack(lost, 1).cpu(), torch.stack(flipped, 1).cpu(), estimate)
