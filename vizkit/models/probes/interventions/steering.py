"""Directions of classes in the residual stream, and what the answers become when one is added.

The direction of a class after a block is the mean of the stream over pictures of the class less that over all others
("mean difference"; Marks & Tegmark 2023, arXiv 2310.06824, § 5; Turner et al. 2023, arXiv 2308.10248, add it).
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.geometry import size_of
from vizkit.models.families import family
from vizkit.models.probes.interventions.stream import StreamRunner, streams_of
from vizkit.models.probes.interventions.stream_edits import Directions, along
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable

Batch = tuple[Float[Tensor, "_image channel height width"], Int[Tensor, " _image"]]


@torch.no_grad()
def class_directions(
    loaded: Loaded, batches: Iterable[Batch], done: Callable[[int], None] = lambda _: None
) -> Directions:
    """Of every block, from 0, and every class of the labels; (special + 1, channel): each special token its own, all
    patches together the last row. `done` hears how many images are through and may raise to stop. NotApplicable for
    models without blocks around one stream, and for pictures of a single class."""
    sums: dict[int, list[Tensor]] = {}
    counts: dict[int, int] = {}
    for pixels, labels in batches:
        tokens = family(loaded.model).tokens_of(loaded.model, size_of(pixels))
        special = len(tokens[0].special) if tokens else 0
        rows = [_rows(stream, special) for stream in streams_of(loaded, pixels)]  # image row channel
        for label in labels.unique().tolist():
            own = [stream[labels == label].sum(0).cpu().double() for stream in rows]
            sums[label] = [one + more for one, more in zip(sums[label], own, strict=True)] if label in sums else own
            counts[label] = counts.get(label, 0) + int((labels == label).sum())
        done(sum(counts.values()))
    if len(counts) < 2:
        raise NotApplicable("A direction leads from other classes to one: images of two classes are needed.")
    every, total = [sum(parts) for parts in zip(*sums.values(), strict=True)], sum(counts.values())
    return {
        (block, label): (own / counts[label] - (every[block] - own) / (total - counts[label])).float()
        for label, streams in sums.items()
        for block, own in enumerate(streams)
    }


def _rows(stream: Tensor, special: int) -> Float[Tensor, "image row channel"]:
    if stream.dim() == 4:
        return stream.mean((1, 2))[:, None]
    return torch.cat([stream[:, :special], stream[:, special:].mean(1, keepdim=True)], 1)


def steered(
    loaded: Loaded,
    pixels: Float[Tensor, "1 channel height width"],
    block: int,
    direction: Float[Tensor, "_row _channel"],
    factors: Sequence[float],
) -> Float[Tensor, "factor label"]:
    """The logits when the direction, times each factor, is added after a block, from 0: one batch from there on."""
    stream = streams_of(loaded, pixels)[block]
    added = along(direction.to(stream), stream)
    many = stream.new_tensor(list(factors)).view(-1, *[1] * (stream.dim() - 1))
    return StreamRunner(loaded, pixels)(block, stream + many * added).cpu()
