"""The pictures that taught a model an error, of those that were recorded."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from vizkit.analysis.data_set import influence
from vizkit.evaluation.classes import UNKNOWN
from vizkit.evaluation.data_set.record import Recorded
from vizkit.traces import NotApplicable


@dataclass(frozen=True, eq=False)
class Taught:
    """`rows`: of the record, the one first that speaks most for the picture's label; `influence`: see
    `analysis.data_set.influence.last_layer`; those below zero speak against it, so for the error."""

    row: int
    rows: Int[np.ndarray, " other"]
    influence: Float[np.ndarray, " other"]

    def for_(self, most: int) -> Int[np.ndarray, " some"]:
        return self.rows[self.influence > 0][:most]

    def against(self, most: int) -> Int[np.ndarray, " some"]:
        """The strongest first."""
        return self.rows[self.influence < 0][::-1][:most]


def taught(found: Recorded, row: int) -> Taught:
    """Of all pictures of the split train, where there is one, else of all others: a model can only have learned from
    what it was shown, and nobody but its owner knows what that was. Raises NotApplicable where the last layer is
    unknown or gives no probabilities of one class, or the model does not know the picture's label."""
    if not (found.linear and found.exclusive):
        raise NotApplicable(
            f"{found.model} has no linear layer at its end that was found, so what taught it cannot be computed."
        )
    if not found.known[row]:
        raise NotApplicable(
            "The model does not know the label of this image, so its answer is neither right nor wrong."
        )
    train = found.splits == "train"
    rows = np.flatnonzero(found.known & (found.truth != UNKNOWN) & (train if train.any() else True))
    rows = rows[rows != row]
    of = np.concatenate([[row], rows])
    truth = np.concatenate([found.shown[[row]], found.truth[rows]])  # of the error what it shows, of others the label
    values = influence.last_layer(found.probabilities[of], truth, found.features[of], 0)[1:]
    order = np.argsort(-values, kind="stable")
    return Taught(row, rows[order], values[order])
