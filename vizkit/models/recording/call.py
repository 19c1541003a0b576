"""What is kept of a pass, and one attention layer as it was called."""

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from vizkit.models.recording.layer_output import Difference, exceeds
from vizkit.models.recording.weights import grouped
from vizkit.traces import TraceError

Kernel = Literal["fused", "mha", "softmax"]


@dataclass(frozen=True)
class Keep:
    """What a recording keeps; the default is everything.

    `layers`: indices of attention layers in the order of the forward pass; the others run untouched.
    `rows`: token ids of queries. The fused kernel then does the layer's work and only these rows are computed beside
    it, so that inputs with thousands of tokens cost no memory.
    `heads="mean"` keeps the mean over heads and holds some rows of single heads at once (`weights.AT_ONCE`). `dtype`:
    how weights are stored.
    """

    layers: Collection[int] | None = None
    rows: tuple[int, ...] | None = None
    heads: Literal["each", "mean"] = "each"
    dtype: torch.dtype | None = None


@dataclass(eq=False)  # tensors have no single answer to ==
class Call:
    """One attention layer as it was called, of one image, or of several, `images`: then all that is kept has an axis of
    images in front.

    `weights` are (group, head, query, key), None for a layer that is not kept. `module` is the innermost
    module that called, `path` its name in the model. `rows` are the query ids that were kept (None: all). `kernel`
    says how the layer computes: "fused", "mha" or "softmax" (written out). `row_sums` were taken before the weights
    were rounded to the dtype in which they are kept, where that is another. `differences`: what was compared with
    the layer's own output, see `layer_output`; `sample` is what was compared, until the weights are kept: positions
    among the rows, and the weights of every head there; `places` are those positions. `met`: of a written-out softmax
    what is kept against what entered the product with the values; None where that was not seen. `raw` is the tensor in
    the autograd graph; `score_gradient`: see `layer_scores`; `groups`: see `weights.grouped`. With a gradient,
    `entering` is what the layer was given, in the graph.
    """

    path: str
    module: nn.Module | None
    kernel: Kernel
    weights: Tensor | None = None
    heads: int = 1
    rows: tuple[int, ...] | None = None
    row_sums: Tensor | None = None
    differences: list[Difference] = field(default_factory=list)
    sample: tuple[slice, Tensor] | None = None
    gradient: Tensor | None = None
    score_gradient: Tensor | None = None
    raw: Tensor | None = None
    groups: int | None = None
    entering: Tensor | None = None
    places: slice = field(default_factory=lambda: slice(0))
    met: Difference | None = None
    version: int = 0
    images: int | None = None

    @property
    def astray(self) -> bool:
        """Whether other numbers met the values than are kept, or nobody saw what met them."""
        if self.weights is None:
            return False
        met = self.met is not None and not exceeds(self.met)
        return version_of(self.weights) != self.version or (self.kernel == "softmax" and not met)

    @property
    def row_sum_error(self) -> Tensor | None:
        """The largest |sum of a row − 1|; computed when it is read, after the pass, where all layers cost what one
        between two others does."""
        if self.weights is None:
            return None
        sums = self.weights.sum(-1) if self.row_sums is None else self.row_sums
        return torch.linalg.vector_norm(sums - 1, math.inf)

    def grouped(self, weights: Tensor) -> Tensor:
        """What has the shape of the layer's weights, or fewer queries, as (group, head, query, key)."""
        if self.images is None:
            return grouped(weights, self.module, self.groups)
        parts = by_image(weights, self.images)
        first = grouped(parts[0], self.module, self.groups)
        if (first.shape, first.stride()) == (parts[0].shape, parts[0].stride()):  # as most models write it
            return parts
        return torch.vmap(lambda one: grouped(one, self.module, self.groups))(parts)


def by_image(tensor: Tensor, images: int) -> Tensor:
    """An axis of images in front of what a layer gives for all of them, (image · any, …)."""
    if tensor.shape[0] % images:
        raise TraceError(f"A layer gives {tensor.shape[0]} matrices for {images} images at once.")
    return tensor.unflatten(0, (images, -1))


def version_of(tensor: Tensor) -> int:
    """How often it, or what shares its numbers, has been written into; of tensors of inference nobody counts."""
    return 0 if tensor.is_inference() else tensor._version
