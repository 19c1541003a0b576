"""An object without labels, from the vectors of the patches of one image: four rules of the field as masks.

TokenCut: Wang et al. 2022 (arXiv 2202.11539), eq. 3 to 5. LOST: Siméoni et al. 2021 (arXiv 2109.14279), § 3.2. Mass of
the class token's attention: Caron et al. 2021 (arXiv 2104.14294), fig. 4.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vizkit.traces import NotApplicable

THRESHOLD, OF_OUTPUTS, WEAK = 0.2, 0.4, 1e-5
"""τ of TokenCut for keys as published, and for what leaves a block, whose vectors are more alike; the weight of two
patches that are less alike."""
SEEDS = 0.25  # of all patches, at most 100 of them as published: the seed of LOST grows by those
MASS, CLUSTERS, ROUNDS = 0.6, 2, 50
MOST = 4096  # places, whose eigenvector takes half a minute


@dataclass(frozen=True)
class Cut:
    """TokenCut's `mask`, and the `vector` (patch) whose mean divides it: second of (D − E) y = λ D y, with its `value`
    λ. `error`: ‖(D − E) y − λ D y‖ of it, as a share of ‖D y‖."""

    mask: Bool[Tensor, " patch"]
    vector: Float[Tensor, " patch"]
    value: float
    error: float


def token_cut(vectors: Float[Tensor, "patch channel"], threshold: float = THRESHOLD) -> Cut:
    """The object is the side on which the vector is largest in size. NotApplicable for very many patches, or one."""
    from scipy.linalg import eigh

    count = len(vectors)
    if not 1 < count <= MOST:
        raise NotApplicable(f"TokenCut parts 2 to {MOST:,} patches and here are {count:,}: choose a later layer.")
    unit = torch.nn.functional.normalize(vectors.double(), dim=1)
    edges = _edges(unit @ unit.T, threshold)
    degrees = torch.diag(edges.sum(1))
    values, found = eigh((degrees - edges).numpy(), degrees.numpy(), subset_by_index=[1, 1])
    vector, value = torch.from_numpy(found[:, 0]), float(values[0])
    above = vector > vector.mean()
    mask = above if bool(above[vector.abs().argmax()]) else ~above
    return Cut(mask, vector, value, cut_error(vectors, vector, value, threshold))


def cut_error(
    vectors: Float[Tensor, "patch channel"], vector: Float[Tensor, " patch"], value: float, threshold: float = THRESHOLD
) -> float:
    """What is missing to (D − E) y = λ D y, as a share of ‖D y‖; the cosines are computed once more, each by itself."""
    lengths = vectors.double().norm(dim=1).clamp(min=1e-12)
    edges = _edges((vectors.double() @ vectors.double().T) / torch.outer(lengths, lengths), threshold)
    right = edges.sum(1) * vector.double()
    return float((right - edges @ vector.double() - value * right).norm() / right.norm().clamp(min=1e-300))


def _edges(cosines: Float[Tensor, "patch patch2"], threshold: float) -> Float[Tensor, "patch patch2"]:
    return torch.where(cosines >= threshold, 1.0, WEAK).double()


def lost(vectors: Float[Tensor, "patch channel"]) -> Bool[Tensor, " patch"]:
    """From the patch with the fewest positive products, grown by the patches with few of them that agree with it: all
    that agree with these together. Products are of the vectors around their mean: published for the keys of DINO as
    they are; of other models nearly all of those are positive."""
    centred = vectors.double() - vectors.double().mean(0)
    products = centred @ centred.T
    degrees = (products > 0).sum(1)
    order = degrees.argsort(stable=True)[: max(1, min(100, round(SEEDS * len(vectors))))]
    seeds = order[products[order[0], order] > 0]
    return products[:, seeds].sum(1) > 0


def heaviest(weights: Float[Tensor, " patch"], share: float = MASS) -> Bool[Tensor, " patch"]:
    """The fewest patches that hold this share of the weight, ≥ 0."""
    order = weights.argsort(descending=True, stable=True)
    before = weights[order].double().cumsum(0) - weights[order]
    mask = torch.zeros(len(weights), dtype=torch.bool)
    mask[order[before < share * weights.double().sum()]] = True
    return mask


def clusters(vectors: Float[Tensor, "patch channel"], count: int = CLUSTERS) -> Int[Tensor, " patch"]:
    """k-means by cosine, the same each time: the first centre is the patch least like the mean, each next one that is
    least like all so far."""
    unit = torch.nn.functional.normalize(vectors.double(), dim=1)
    centres = unit[(unit @ unit.mean(0)).argmin()][None]
    while len(centres) < min(count, len(unit)):
        centres = torch.cat([centres, unit[(unit @ centres.T).amax(1).argmin()][None]])
    own = (unit @ centres.T).argmax(1)
    for _ in range(ROUNDS):
        sums = torch.zeros_like(centres).index_add_(0, own, unit)
        centres = torch.nn.functional.normalize(torch.where(sums.norm(dim=1, keepdim=True) > 0, sums, centres), dim=1)
        if torch.equal(own, own := (unit @ centres.T).argmax(1)):
            break
    return own


def heavy_clusters(own: Int[Tensor, " patch"], weights: Float[Tensor, " patch"]) -> Bool[Tensor, " patch"]:
    """The clusters whose patches have more than the mean weight on average."""
    count = int(own.max()) + 1
    sums = torch.zeros(count).index_add_(0, own, weights.float())
    means = sums / own.bincount(minlength=count).clamp(min=1)
    return (means > weights.float().mean())[own]


def iou(mask: Bool[Tensor, "*patch"], truth: Bool[Tensor, "*patch"]) -> float:
    """Intersection over union, 0 to 1; 0 of two empty masks."""
    return float((mask & truth).sum()) / max(1, int((mask | truth).sum()))


def chance_iou(share: float, truth: float) -> float:
    """What as many patches as a mask has would have on average, laid anywhere: p q / (p + q − p q), of the shares of
    the image that both cover."""
    both = share * truth
    return both / ((share + truth - both) or 1.0)
