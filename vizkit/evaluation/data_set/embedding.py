"""A plane on which pictures that a model holds for alike lie together, and how far it can be believed.

t-SNE (van der Maaten & Hinton 2008) as openTSNE computes it (Poličar et al. 2024), from the first principal components;
or these components alone. A plane loses neighbours and makes others, and t-SNE draws clusters of noise too, so two
figures stand beside it: trustworthiness (Venna & Kaski 2001), 1 where no neighbour on the plane is a stranger, about ½
of places drawn at random; and purity, how many of a picture's nearest carry its label, against that of labels dealt out
anew.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Float32, Int

from vizkit.evaluation.data_set.record import MissingExtra, Recorded, directions
from vizkit.traces import NotApplicable

Space = Literal["features", "maps"]
How = Literal["tsne", "pca"]
NEAREST = 10  # neighbours for purity
TRUSTED = 12  # for trustworthiness
COMPONENTS = 50  # principal ones that t-SNE starts from
PERPLEXITY = 30
JUDGED = 2000  # pictures, at most, that trustworthiness is computed of: it takes all distances
FEWEST = 5


@dataclass(frozen=True, eq=False)
class Embedding:
    """`xy`: from −1 to 1 in the longer direction, NaN of a picture without a map. `trustworthiness` 0 to 1.
    `purity`: the mean share of a picture's 10 nearest on the plane that have its label, `purity_before` of its nearest
    in the space itself, `chance` in the mean of all ways to deal the labels out anew."""

    xy: Float32[np.ndarray, "picture 2"]
    trustworthiness: float
    purity: float
    purity_before: float
    chance: float


def embedding(found: Recorded, of: Space = "features", how: How = "tsne", seed: int = 0) -> Embedding:
    """The same for the same seed and machine. Raises NotApplicable where fewer than 5 pictures can be placed, and
    MissingExtra for t-SNE without openTSNE."""
    from sklearn.manifold import trustworthiness

    rows, points = space(found, of)
    if len(points) < FEWEST:
        raise NotApplicable(f"A map needs at least {FEWEST} images; {len(points)} have what it is made of.")
    plane = _tsne(points, seed) if how == "tsne" else _components(points, 2, seed)
    plane = plane - (plane.max(0) + plane.min(0)) / 2
    plane /= max(float(np.abs(plane).max()), 1e-12)
    labels = found.target[rows]
    some = np.sort(np.random.default_rng(seed).permutation(len(points))[:JUDGED])
    trusted = trustworthiness(points[some], plane[some], n_neighbors=min(TRUSTED, (len(some) - 1) // 2))
    near = nearest(plane, min(NEAREST, len(points) - 1))
    xy = np.full((len(found), 2), np.nan, np.float32)
    xy[rows] = plane
    return Embedding(
        xy,
        float(trusted),
        purity(near, labels),
        purity(nearest(points, near.shape[1]), labels),
        by_chance(labels),
    )


def space(found: Recorded, of: Space) -> tuple[Int[np.ndarray, " placed"], Float32[np.ndarray, "placed dimension"]]:
    """Which pictures can be placed, and by what: features of length 1, as directions are what classifiers compare, or
    maps of sum 1."""
    if of == "features":
        return np.arange(len(found)), directions(found.features)
    flat = np.maximum(found.maps.reshape(len(found), -1), 0)
    rows = np.flatnonzero(np.isfinite(flat).all(1) & (flat.sum(1) > 0))
    return rows, flat[rows] / flat[rows].sum(1, keepdims=True)


def nearest(points: Float[np.ndarray, "picture dimension"], k: int) -> Int[np.ndarray, "picture k"]:
    """The k nearest others of each, the nearest first."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=k).fit(points).kneighbors(return_distance=False)


def purity(near: Int[np.ndarray, "picture k"], labels: Int[np.ndarray, " picture"]) -> float:
    return float((labels[near] == labels[:, None]).mean())


def by_chance(labels: Int[np.ndarray, " picture"]) -> float:
    """The purity of labels dealt out anew, in the mean: the share of all pairs that have the same."""
    _, counts = np.unique(labels, return_counts=True)
    return float((counts * (counts - 1)).sum() / (len(labels) * (len(labels) - 1)))


def _components(points: np.ndarray, dimensions: int, seed: int) -> np.ndarray:
    from sklearn.decomposition import PCA

    fewer = min(dimensions, *points.shape)
    found = PCA(fewer, svd_solver="full" if min(points.shape) < 500 else "auto", random_state=seed).fit_transform(
        points
    )
    return np.pad(found, ((0, 0), (0, dimensions - fewer))) if dimensions == 2 else found


def _tsne(points: np.ndarray, seed: int) -> np.ndarray:
    try:
        import openTSNE
    except ModuleNotFoundError:
        raise MissingExtra("openTSNE") from None
    start = _components(points, COMPONENTS, seed)
    first: Any = start[:, :2] / max(float(start[:, 0].std()), 1e-12) * 1e-4
    perplexity = min(PERPLEXITY, max(1, (len(points) - 1) // 3))
    made = openTSNE.TSNE(
        perplexity=perplexity, initialization=first, random_state=seed, neighbors="exact", n_jobs=1, metric="euclidean"
    )
    return np.asarray(made.fit(start))
