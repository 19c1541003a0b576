"""The vectors of words: which are alike, and the plane in which they differ most."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.patches import fixed_sign
from vizkit.analysis.attention.positions import similarity


@dataclass(frozen=True)
class Plane:
    """Where every word lies on the two principal components, and the shares of the variance that these explain."""

    places: Float[Tensor, "word 2"]
    explained: Float[Tensor, " 2"]


def plane(vectors: Float[Tensor, "word channel"]) -> Plane:
    """The two directions along which the vectors differ most, from their mean (Pearson 1901).

    The sign of a direction is free; the number that is largest in size is made positive, so that pictures repeat. A
    component that does not exist is 0 everywhere.
    """
    flat = vectors.double() - vectors.double().mean(0)
    _, spread, directions = torch.linalg.svd(flat, full_matrices=False)
    count = min(2, len(spread))
    places, explained = flat.new_zeros(len(flat), 2), flat.new_zeros(2)
    places[:, :count] = flat @ fixed_sign(directions[:count]).T
    explained[:count] = spread[:count] ** 2 / (spread**2).sum().clamp(min=torch.finfo(torch.float64).tiny)
    return Plane(places.float(), explained.float())


def nearest(vectors: Float[Tensor, "word channel"], index: int, count: int = 5) -> list[tuple[int, float]]:
    """(number, cosine −1 to 1) of the words most like a word, the most like first, without itself."""
    alike = similarity(vectors)[index]
    order = [other for other in alike.argsort(descending=True).tolist() if other != index]
    return [(other, float(alike[other])) for other in order[:count]]
