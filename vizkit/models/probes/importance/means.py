"""What every head gives on average over pictures: it stands in the head's place when that is taken away.

A head that adds nothing is something the model never met; its mean keeps what all pictures share and takes away what
this one says (mean ablation; Wang et al. 2022, arXiv 2211.00593, § 2.3).
"""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.models.recording.editing import HeadOutputs, Place
from vizkit.models.recording.edits import EditError
from vizkit.models.sources.loaded import Loaded


def head_means(
    loaded: Loaded,
    batches: Iterable[Float[Tensor, "_image channel height width"]],
    places: Sequence[Place],
) -> tuple[Float[Tensor, "_group _head _query _channel"], ...]:
    """Of each layer (`models.attention_places`) the mean over all images of weights · values, before W_O, for every
    group, head and query token: `Plan.means`. One pass for each batch. EditError for attention that is not edited, and
    where there is no image.
    """
    sums: list[Tensor] = []
    images = 0
    for pixels in batches:
        alone = [out.unflatten(0, (len(pixels), -1)).sum(0) for out in head_outputs(loaded, pixels, places)]
        sums = [one + other for one, other in zip(sums, alone, strict=True)] if sums else alone
        images += len(pixels)
    if not images:
        raise EditError("A head's mean is taken over reference images: give some.")
    return tuple(total / images for total in sums)


@torch.no_grad()
def head_outputs(
    loaded: Loaded, pixels: Float[Tensor, "image channel height width"], places: Sequence[Place]
) -> tuple[Float[Tensor, "_group _head _query _channel"], ...]:
    """The same of every image of a batch, the groups of the first image first, in one pass."""
    heard: list[Tensor] = []
    with HeadOutputs(tuple(places), lambda _, out: heard.append(out.detach().float())):
        loaded.model(pixels.to(loaded.device))
    return tuple(heard)
