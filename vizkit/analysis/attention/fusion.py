"""All heads of a layer as one matrix: their mean, or the largest or smallest weight of any head."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor

Fusion = Literal["mean", "max", "min"]


def fuse(weights: Float[Tensor, "head query key"], fusion: Fusion) -> Float[Tensor, "query key"]:
    """Only the mean keeps rows that sum to one; `max` shows what any head sees, `min` what all agree on."""
    if fusion == "mean":
        return weights.mean(0)
    return weights.amax(0) if fusion == "max" else weights.amin(0)
