"""What frozen features already tell of the labels: by neighbours, and by a linear layer, on pictures not learned from.

k-NN as in DINO (Caron et al. 2021, arXiv 2104.14294, § 4.1): k = 20, a neighbour votes for its label with exp(cos / T),
T = .07. Linear: logistic regression on standardised features, held back so far (C = .01) that it learns no wrong label
by heart. Five folds: each picture is answered by a probe of the
other four, so every figure here is out of sample, but for what the model itself learned from the pictures.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from vizkit.evaluation.data_set.record import Recorded
from vizkit.evaluation.measures import Interval, share_interval
from vizkit.traces import NotApplicable

NEIGHBOURS, TEMPERATURE = 20, 0.07
FOLDS = 5
STEPS, STRENGTH = 300, 0.01  # of logistic regression: iterations, C

Probabilities = Float[np.ndarray, "picture label"]


@dataclass(frozen=True, eq=False)
class Probed:
    """Accuracies with intervals, of the `rows` whose label has at least two pictures. `model`: of the model's own
    answers, by the same labels, None where it does not know all labels. `chance`: the share of the commonest label."""

    rows: Int[np.ndarray, " probed"]
    knn: Interval
    linear: Interval
    model: Interval | None
    chance: float
    folds: int


@dataclass(frozen=True, eq=False)
class OutOfSample:
    """`linear`: probabilities of each label of the set for the pictures `rows`, each by a probe that has not seen it;
    `knn`: the votes of the other folds' pictures, sums 1. Labels that are too rare have 0."""

    rows: Int[np.ndarray, " probed"]
    linear: Probabilities
    knn: Probabilities
    folds: int

    @property
    def both(self) -> Probabilities:
        """Their mean, which is right more often about wrong labels than either (docs/dataset.md)."""
        return (self.linear + self.knn) / 2


def out_of_sample(features: Float[np.ndarray, "picture feature"], target: np.ndarray, seed: int = 0) -> OutOfSample:
    """Raises NotApplicable where fewer than two labels have two pictures."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    counts = np.bincount(target)
    rows = np.flatnonzero(counts[target] > 1)
    if len(np.unique(target[rows])) < 2:
        raise NotApplicable("Probes need at least two labels with two images each.")
    folds = int(min(FOLDS, counts[counts > 1].min()))
    vote: Any = lambda distance: np.exp(-distance / TEMPERATURE)  # noqa: E731  (exp(cos / T) but for a factor of all)
    some, own, labels = features[rows], target[rows], len(counts)
    linear, votes = (np.zeros((len(rows), labels)) for _ in range(2))
    for learned, asked in StratifiedKFold(folds, shuffle=True, random_state=seed).split(some, own):
        layer = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=STEPS))
        near = KNeighborsClassifier(min(NEIGHBOURS, len(learned)), weights=vote, metric="cosine")
        for shares, probe in ((linear, layer), (votes, near)):
            probe.fit(some[learned], own[learned])
            shares[np.ix_(asked, probe.classes_)] = probe.predict_proba(some[asked])
    return OutOfSample(rows, linear, votes, folds)


def probe(found: Recorded, seed: int = 0) -> Probed:
    """Of the whole set. Raises NotApplicable, see `out_of_sample`."""
    return probed(found, out_of_sample(found.features, found.target, seed))


def probed(found: Recorded, told: OutOfSample) -> Probed:
    own, rows = found.target[told.rows], told.rows
    model = share_interval(found.answer[rows] == found.truth[rows]) if found.known[rows].all() else None
    knn, linear = (share_interval(each.argmax(1) == own) for each in (told.knn, told.linear))
    commonest = float(np.bincount(own).max() / len(own))
    return Probed(rows, knn, linear, model, commonest, told.folds)
