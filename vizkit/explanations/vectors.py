"""What every patch of many images knows: a column of vectors beside the maps, and which patches are most like one.

The vectors are those that leave the last block, each divided by its length, as float16: their product is the cosine.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from vizkit.explanations.reading import Pixels
from vizkit.explanations.table import PATCH_FEATURES, Explanations, fixed
from vizkit.from_json import read
from vizkit.models import Loaded
from vizkit.models.probes.block_outputs import blocks_of
from vizkit.models.probes.interventions.stream import after_blocks, outputs_of
from vizkit.traces import NotApplicable, Trace

ROUNDED = 2e-3  # of a cosine, what float16 may take: two of its steps below 1


def vectors_type(shape: tuple[int, int, int]) -> pyarrow.DataType:
    return pyarrow.list_(pyarrow.float16(), math.prod(shape))


class PatchVectors:
    """The column of a model. `shape`: (rows, columns, features). NotApplicable where the places of the vectors that
    leave its last block are not known."""

    def __init__(self, loaded: Loaded, trace: Trace, pixels: Float[Tensor, "1 channel height width"]) -> None:
        self.loaded = loaded
        last = next(iter(after_blocks(loaded, trace, pixels)[1][-1:]), None)
        if last is None or last.tokens.grid is None:
            raise NotApplicable(f"Where the vectors that leave the last block of {loaded.name} lie is not known.")
        modules = dict(loaded.model.named_modules())
        self.path = last.name if last.name in modules else blocks_of(loaded.model)[-1]  # a stage ends in its last block
        self.first = len(last.tokens.special)
        self.shape = (*last.tokens.grid, last.values.shape[1])
        alone = self._placed(pixels)[0].flatten(0, 1).float().cpu()
        known = last.values[self.first : self.first + len(alone)].float().cpu()
        if float((alone - known).abs().max()) > ROUNDED * float(known.abs().max()):
            raise NotApplicable(f"{loaded.name} does not give the vectors that leave its last block.")
        told = {"shape": json.dumps(self.shape), "after": self.path}
        self.field = pyarrow.field(PATCH_FEATURES, vectors_type(self.shape), metadata=told)

    def _placed(self, pixels: Pixels) -> Float[Tensor, "image row column feature"]:
        rows, columns, channels = self.shape
        (out,) = outputs_of(self.loaded, pixels, [self.path]).values()
        if out.ndim == 4 and out.shape[1:] == (channels, rows, columns):  # of a CNN
            out = out.permute(0, 2, 3, 1)
        vectors = out.flatten(1, -2)[:, self.first : self.first + rows * columns]
        return vectors.unflatten(1, (rows, columns))

    def of(self, pixels: Pixels) -> pyarrow.Array:
        unit = F.normalize(self._placed(pixels).float(), dim=-1).half().cpu()
        return fixed(unit.numpy())


class Alike(NamedTuple):
    """A patch of an image, by its row and column from 0, and its cosine with the one that asks."""

    key: str
    row: int
    column: int
    cosine: float


@dataclass(frozen=True, eq=False)
class PatchIndex:
    """All vectors of a run in memory: 2 bytes a number, .5 GB of 2,000 images of 324 patches and 384 channels."""

    keys: list[str]
    vectors: Float[Tensor, "image row column feature"]

    @classmethod
    def of(cls, results: Explanations) -> "PatchIndex":
        """Raises ValueError for a run without them."""
        schema = results.dataset.schema
        if PATCH_FEATURES not in schema.names:
            raise ValueError(f"{results.path} has no vectors of patches: explain writes them with --patch-features.")
        try:
            shape = read(tuple[int, int, int], json.loads(schema.field(PATCH_FEATURES).metadata[b"shape"]))
            if min(shape) < 1 or schema.field(PATCH_FEATURES).type != vectors_type(shape):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ValueError(f"The vectors of patches in {results.path} are damaged.") from None
        keys: list[str] = []
        found = [np.zeros((0, *shape), np.float16)]  # of a run without images
        for batch in results.dataset.to_batches(["key", PATCH_FEATURES]):
            there = batch.filter(batch[PATCH_FEATURES].is_valid())
            keys += there["key"].to_pylist()
            found.append(there[PATCH_FEATURES].flatten().to_numpy(zero_copy_only=False).reshape(-1, *shape))
        return cls(keys, torch.from_numpy(np.concatenate(found)))

    @property
    def grid(self) -> tuple[int, int]:
        return self.vectors.shape[1], self.vectors.shape[2]

    def patch(self, key: str, x: float, y: float) -> Alike:
        """The patch of an image at shares of the width and height of what the model sees. Raises ValueError."""
        if key not in self.keys:
            raise ValueError(f"No image {key[:100]!r} has vectors of patches here.")
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise ValueError("A place is given in shares of the width and height, from 0 to 1.")
        rows, columns = self.grid
        return Alike(key, min(int(y * rows), rows - 1), min(int(x * columns), columns - 1), 1.0)

    def most_alike(self, asking: Alike, count: int) -> list[Alike]:
        """The most similar patch of each other image, the most similar image first. Exact for what is stored: float16
        finds who comes into question, float32 decides."""
        own = self.keys.index(asking.key)
        vector = self.vectors[own, asking.row, asking.column]
        columns = self.vectors.shape[2]
        near = (self.vectors.flatten(0, 2) @ vector).view(len(self.keys), -1).float()
        near[own] = -torch.inf
        count = min(count, len(self.keys) - 1)
        if count < 1:
            return []
        least = near.amax(1).topk(count).values[-1] - ROUNDED
        images, patches = (near >= least).nonzero().T
        exact = self.vectors.flatten(1, 2)[images, patches].float() @ vector.float()
        best: dict[int, Alike] = {}
        for at in exact.argsort(descending=True, stable=True).tolist():
            image, (row, column) = int(images[at]), divmod(int(patches[at]), columns)
            best.setdefault(image, Alike(self.keys[image], row, column, float(exact[at])))
        return [*best.values()][:count]


def said(asking: Alike, found: Sequence[Alike]) -> str:
    """In a sentence."""
    if not found:
        return "There is no other image."
    place = f"Row {asking.row + 1}, column {asking.column + 1} of {asking.key}"
    return f"{place}: the most similar patch of another image has a cosine of {found[0].cosine:.2f}."
