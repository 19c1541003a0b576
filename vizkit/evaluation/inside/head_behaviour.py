"""What every head of a model does, averaged over pictures of a set: one recorded pass for each picture."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.head_behaviour import BEHAVIOURS, by_layer
from vizkit.evaluation.inside.few_pictures import few_pictures
from vizkit.evaluation.inside.sharing import mine, together
from vizkit.models import Loaded, families
from vizkit.traces import NotApplicable

if TYPE_CHECKING:
    from accelerate import Accelerator


Means = dict[str, tuple[float, ...]]
Values = Float[Tensor, "behaviour head"]


def behaviours_of(
    loaded: Loaded,
    data: str,
    images: int,
    *,
    seed: int = 0,
    tell: Callable[[float], None] = lambda _: None,
    parts: list[Values] | None = None,
    accelerator: "Accelerator | None" = None,
) -> Means:
    """Of test pictures of a set: each of BEHAVIOURS for every head, in the order of the pass. `tell` hears the share
    that is done and may raise to stop; `parts` then holds what was measured, and the next call with them goes on. With
    an `accelerator` every process takes every n-th picture. Raises DatasetError, and NotApplicable for a model without
    attention."""
    parts = [] if parts is None else parts
    pictures = few_pictures(loaded, data, images, seed=seed)
    for rows in mine(pictures.batches(1, len(parts)), accelerator):
        tell(rows.start / len(pictures))
        parts.append(measured(loaded, pictures.pixels(rows)))
    tell(1.0)
    return means(together(parts, accelerator))


def measured(loaded: Loaded, pixels: Float[Tensor, "1 channel height width"]) -> Values:
    """Of one picture, all heads of all layers side by side."""
    trace = families.trace(loaded, pixels)
    heads = [torch.stack([layer[name] for name in BEHAVIOURS]) for layer in by_layer(trace, pixels[0])]
    if not heads:
        raise NotApplicable(f"{trace.no_attention}: there is no head to look at.")
    return torch.cat(heads, 1)


def means(parts: Sequence[Values]) -> Means:
    """Over pictures; those in which a number has no meaning are left out of its mean."""
    mean = torch.stack([*parts]).double().nanmean(0)
    return {name: tuple(values.tolist()) for name, values in zip(BEHAVIOURS, mean, strict=True)}
