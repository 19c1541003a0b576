"""Pictures of one label for which a model looks at the same odd place: a shortcut, perhaps.

SpRAy (Lapuschkin et al. 2019, Nature Communications 10:1096): maps of one label, spectral clustering, and as many
clusters as the largest gap of the first eigenvalues says (von Luxburg 2007). Before it each place of a map is compared
with the same place in pictures of all other labels, in deviations: a mark in a corner draws little of rollout, but far
more than any corner does otherwise. Objects that lie anywhere make clusters by where they lie, too: they are told from
a mark by how much a place stands out in nearly all pictures of the cluster, and by hiding it (`hiding.py`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from vizkit.evaluation.data_set.embedding import space
from vizkit.evaluation.data_set.record import Recorded, directions

FEWEST = 10  # pictures of a label that are clustered
MOST_OF_LABEL = 1000  # more are thinned out evenly: the work grows with their cube
MOST_CLUSTERS = 7
SMALLEST = 4  # pictures of a cluster
LOCAL = 7  # the neighbour that tells how far apart near is (Zelnik-Manor & Perona 2004)
FLOOR = 0.25  # of a place's mean deviation, added: a place where nobody looks has none of its own
STANDS_OUT = 1.0  # deviations
HALF = 0.5  # of the highest place, which the shared place reaches


@dataclass(frozen=True, eq=False)
class Cluster:
    """Pictures `rows` of one label. `clusters`: how many that label has, by the largest gap of its `eigenvalues`, from
    0 to 2. `mean`: their mean map, sum 1, `others` that of the label's other pictures (of a label that is one cluster,
    of all other labels). `excess`: in deviations from pictures of all other labels, at each place; `place`: the shared
    one: in `alike` of the `of_others` pictures of other labels it has as much of the map as in the mean of these.
    `score`: the excess at its highest place times the share of the pictures in which that place stands out."""

    label: int
    rows: Int[np.ndarray, " member"]
    of_label: int
    clusters: int
    eigenvalues: Float[np.ndarray, " first"]
    mean: Float32[np.ndarray, "row column"]
    others: Float32[np.ndarray, "row column"]
    excess: Float32[np.ndarray, "row column"]
    place: Bool[np.ndarray, "row column"]
    alike: int
    of_others: int
    score: float


def shortcuts(found: Recorded, seed: int = 0) -> tuple[Cluster, ...]:
    """Clusters of all labels with at least 10 maps, the one that stands out most first; none of fewer than 4 pictures.
    A label whose maps are one cluster is one."""
    rows, maps = space(found, "maps")
    shape = found.maps.shape[1:]
    every = []
    for label in np.unique(found.target[rows]).tolist():
        own = found.target[rows] == label
        if own.sum() < FEWEST or own.all():
            continue
        others = maps[~own]
        thinned = np.flatnonzero(own)
        if len(thinned) > MOST_OF_LABEL:
            thinned = thinned[np.linspace(0, len(thinned) - 1, MOST_OF_LABEL).round().astype(int)]
        excess = excess_over(maps[thinned], others)
        member, eigenvalues = clustered(excess, seed)
        for number in range(int(member.max()) + 1):
            mine = member == number
            if mine.sum() < SMALLEST:
                continue
            mean = excess[mine].mean(0)
            highest = int(mean.argmax())
            score = float(mean[highest] * (excess[mine, highest] > STANDS_OUT).mean())
            rest = others if mine.all() else maps[thinned[~mine]]
            own_mean, rest_mean = (each.mean(0).reshape(shape) for each in (maps[thinned[mine]], rest))
            place = mean >= HALF * mean[highest]
            there = maps[thinned[mine]][:, place].sum(1).mean()
            alike = int((others[:, place].sum(1) >= there).sum()), len(others)
            many, of = int(member.max()) + 1, rows[thinned[mine]]
            where = mean.reshape(shape), place.reshape(shape)
            means = eigenvalues, own_mean, rest_mean
            every.append(Cluster(label, of, len(thinned), many, *means, *where, *alike, score))
    return tuple(sorted(every, key=lambda cluster: (-cluster.score, cluster.label)))


def excess_over(
    maps: Float32[np.ndarray, "picture place"], others: Float32[np.ndarray, "other place"]
) -> Float32[np.ndarray, "picture place"]:
    """How far each place of a map lies above the others' mean there, in their deviations; below counts as 0."""
    deviation = others.std(0)
    spread = deviation + FLOOR * deviation.mean() + 1e-12
    return np.maximum((maps - others.mean(0)) / spread, 0).astype(np.float32)


def clustered(
    points: Float32[np.ndarray, "picture place"], seed: int = 0
) -> tuple[Int[np.ndarray, " picture"], Float[np.ndarray, " first"]]:
    """The cluster of each, from 0, and the first eigenvalues of the normalised Laplacian of who is near whom. The
    number of clusters is that before the largest gap; one, where that comes first."""
    from scipy.linalg import eigh
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances

    near = affinity(pairwise_distances(points))
    degree = near.sum(1)
    laplacian = np.eye(len(near)) - near / np.sqrt(np.outer(degree, degree))
    last = min(MOST_CLUSTERS, len(near) - 1)
    values, vectors = eigh(laplacian, subset_by_index=[0, last])
    values = np.maximum(values, 0)
    gaps = np.diff(values)
    many = int(gaps.argmax()) + 1
    if many == 1:
        return np.zeros(len(points), np.int64), values
    rows = directions(vectors[:, :many])
    starts: Any = 10
    return KMeans(many, n_init=starts, random_state=seed).fit_predict(rows).astype(np.int64), values


def affinity(distances: Float[np.ndarray, "picture picture"]) -> Float[np.ndarray, "picture picture"]:
    """exp(−d² / σσ′) between each and its √n nearest, where σ is how far the seventh lies; symmetric."""
    count = len(distances)
    order = np.argsort(distances, 1, kind="stable")
    sigma = np.maximum(np.take_along_axis(distances, order[:, [min(LOCAL, count - 1)]], 1)[:, 0], 1e-9)
    alike = np.exp(-(distances**2) / np.outer(sigma, sigma))
    kept = np.zeros_like(alike)
    nearest = order[:, 1 : max(3, round(count**0.5)) + 1]
    np.put_along_axis(kept, nearest, np.take_along_axis(alike, nearest, 1), 1)
    return (kept + kept.T) / 2 + 1e-9  # no picture without a neighbour


class Marks(NamedTuple):
    """Of a mark that is planted in `marks` of `of_label` pictures of a label: how many answers are `right` with it and
    without; and how many pictures of which other labels have it."""

    marks: int
    of_label: int
    right: tuple[int, int]
    others: Mapping[str, int]


def marks_of(found: Recorded, label: int) -> Marks | None:
    """Where any picture of the label has one."""
    mark = np.array([fault.marked for fault in found.faults])
    own = found.target == label
    if not (own & mark).any():
        return None
    right = int(found.right[own & mark].sum()), int(found.right[own & ~mark].sum())
    others = Counter(found.labels[other] for other in found.target[mark & ~own])
    return Marks(int((own & mark).sum()), int(own.sum()), right, others)
