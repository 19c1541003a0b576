"""CKA between all layers of one or more models over pictures of a set, batch by batch."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.comparison.cka import alignment, gram, hsic
from vizkit.datasets import photographs
from vizkit.datasets.opening import open_set
from vizkit.evaluation.inside.few_pictures import FewPictures
from vizkit.models import Loaded
from vizkit.models.probes.block_outputs import block_outputs

BATCH = 32


class Similarity(NamedTuple):
    """`layers`: (number of the model in `models`, name of the block), of all models one after the other; `values`: CKA
    of every pair."""

    models: tuple[str, ...]
    layers: tuple[tuple[int, str], ...]
    images: int
    values: Float[Tensor, "layer layer2"]


class Part(NamedTuple):
    layers: tuple[tuple[int, str], ...]
    images: int
    hsic: Float[Tensor, "layer layer2"]


def similarity(
    models: Sequence[Loaded],
    data: str,
    images: int,
    *,
    batch: int = BATCH,
    seed: int = 0,
    tell: Callable[[float], None] = lambda _: None,
    parts: list[Part] | None = None,
) -> Similarity:
    """Over test pictures of a set, or crops of the photographs at hand, each prepared as every model wants
    it; pictures that fill no batch are left out, but of the first. `tell` hears the share that is done and may raise to
    stop: `parts` then holds what was measured, and the next call with them goes on. Raises DatasetError, and
    NotApplicable for a model without blocks."""
    parts = [] if parts is None else parts
    side = max(max(loaded.preprocessing.size_hw) for loaded in models)
    if data == "photographs":
        opened = photographs.as_set("test", crops=images)
    else:
        opened = open_set(data, "test", images=images, size_px=side, seed=seed)
    outputs = [block_outputs(loaded) for loaded in models]
    for rows in FewPictures(opened, models[0]).batches(batch, len(parts) * batch):
        if parts and len(rows) < batch:
            break
        tell(rows.start / len(opened))
        grams = {}
        for at, (loaded, of) in enumerate(zip(models, outputs, strict=True)):
            layers = of(FewPictures(opened, loaded).pixels(rows))
            grams |= {(at, name): gram(values) for name, values in layers.items()}
        parts.append(Part(tuple(grams), len(rows), hsic([*grams.values()])))
    tell(1.0)
    return gathered(models, parts)


def gathered(models: Sequence[Loaded], parts: Sequence[Part]) -> Similarity:
    """Of all batches that were measured."""
    mean = torch.stack([part.hsic for part in parts]).mean(0)
    return Similarity(
        tuple(loaded.name for loaded in models), parts[0].layers, sum(part.images for part in parts), alignment(mean)
    )
