"""One pass of a model over a labelled set, kept by content (`explanations.kept`): what all that is said of the set is
computed from."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow
from jaxtyping import Bool, Float, Float32, Int, UInt8, UInt64

from vizkit.datasets.image_set import Fault, ImageSet
from vizkit.evaluation.classes import UNKNOWN, EvaluationError
from vizkit.evaluation.data_set.opening import split_of
from vizkit.explanations.data_set import SIDE, Overview, method_for
from vizkit.explanations.kept import Kept
from vizkit.explanations.parts import RunError
from vizkit.explanations.table import decoded
from vizkit.image import RGB, Preprocessing
from vizkit.models import Loaded

BATCH = 32  # pictures: what goes through the model at once, and what a sudden end loses


class MissingExtra(ValueError):  # noqa: N818  (it is no fault of the data)
    """A library of the extra `data` is not installed; the message is one sentence."""

    def __init__(self, library: str) -> None:
        super().__init__(f"This needs {library}: pip install 'vizkit[data]' brings it.")


@dataclass(frozen=True, eq=False)
class Recorded:
    """What one pass found. A row for each picture that could be read; `rows`: which of `images` they are.

    `target`: the label of the set; `truth`: the model's class of that label, UNKNOWN where it has none; `answer`: its
    most probable class. `features`: what its last layer reads. `entropy`: of the class token's attention in the last
    layer, 0 to 1, NaN without one. `maps`: where it looked, by `method`, NaN where there is none. `scores`: see
    `analysis.data_set.picture`. `broken`: why pictures could not be read, by place. `classifies`: whether its outputs
    are classes, `exclusive`: of which one is right; `linear`: whether a linear last layer was found, which reads
    `features`, which is empty where nobody kept it. `needs`: of the model.
    """

    name: str
    model: str
    method: str
    digest: str
    labels: tuple[str, ...]
    classes: tuple[str, ...]
    classifies: bool
    exclusive: bool
    linear: bool
    images: ImageSet
    rows: Int[np.ndarray, " picture"]
    keys: list[str]
    splits: np.ndarray
    broken: dict[str, str]
    target: Int[np.ndarray, " picture"]
    truth: Int[np.ndarray, " picture"]
    answer: Int[np.ndarray, " picture"]
    probability: Float32[np.ndarray, " picture"]
    logits: Float32[np.ndarray, "picture class"]
    features: Float32[np.ndarray, "picture feature"]
    entropy: Float32[np.ndarray, " picture"]
    maps: Float32[np.ndarray, "picture row column"]
    thumbnails: UInt8[np.ndarray, "picture side side 3"]
    scores: Float32[np.ndarray, "picture 3"]
    hashes: UInt64[np.ndarray, " picture"]
    sizes_hw: Int[np.ndarray, "picture 2"]
    needs: Preprocessing

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def faults(self) -> list[Fault]:
        """What was planted in each picture."""
        return [self.images.source.fault(row) for row in self.rows.tolist()]

    @cached_property
    def shown(self) -> Int[np.ndarray, " picture"]:
        """The class of what each picture shows: `truth`, but where another label was planted."""
        classes, shown = dict(zip(self.target.tolist(), self.truth.tolist(), strict=True)), self.truth.copy()
        for row, fault in enumerate(self.faults):
            if fault.label is not None:
                shown[row] = classes.get(fault.label, UNKNOWN)
        return shown

    @property
    def known(self) -> Bool[np.ndarray, " picture"]:
        """Of what the model knows the class, so that it can be right or wrong."""
        return self.shown != UNKNOWN if self.classifies else np.zeros(len(self), bool)

    @property
    def right(self) -> Bool[np.ndarray, " picture"]:
        """By what they show: a label that was planted wrong is no error of the model."""
        return self.known & (self.answer == self.shown)

    @cached_property
    def probabilities(self) -> Float[np.ndarray, "picture class"]:
        from scipy.special import expit, softmax

        logits = self.logits.astype(np.float64)
        return softmax(logits, 1) if self.exclusive else expit(logits)

    @property
    def loss(self) -> Float[np.ndarray, " picture"]:
        """−log of the label's probability, NaN where the model does not know the label."""
        own = self.probabilities[np.arange(len(self)), self.truth.clip(0) % max(1, self.logits.shape[1])]
        return np.where(self.truth != UNKNOWN, -np.log(np.maximum(own, 1e-300)), np.nan)

    @property
    def typical(self) -> Float[np.ndarray, " picture"]:
        """How like its features are to the mean of those of its label: their cosine."""
        own = directions(self.features.astype(np.float64))
        labels, of_label = np.unique(self.target, return_inverse=True)
        means = directions(np.stack([own[self.target == label].mean(0) for label in labels]))
        return (own * means[of_label]).sum(1)

    def picture(self, row: int) -> RGB:
        """Read again where it lies. Raises DatasetError."""
        return self.images[int(self.rows[row])][0]


def directions(vectors: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row feature"]:
    """Each divided by its length."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def record(
    loaded: Loaded,
    images: ImageSet,
    *,
    method: str = "",
    **how: Any,
) -> Recorded:
    """One pass, or what is missing of it, or what is kept. `method`: of the maps, see `analysis.attribution.methods`,
    "" for one that costs little. `how`: `workers`, `tell` and `stopping` as `Kept.fill` has them. Raises StoppedError,
    EvaluationError in one sentence where nothing can be recorded, NotApplicable where the model has no such map.
    """
    method = method or method_for(loaded)
    what = "data set", method, SIDE, loaded.labels
    kept = Kept.of(loaded, images, BATCH, lambda: Overview(loaded, method), *what)
    try:
        kept.fill(**how)
        return _read(loaded, images, method, kept)
    except RunError as error:
        raise EvaluationError(str(error)) from error


def _read(loaded: Loaded, images: ImageSet, method: str, kept: Kept) -> Recorded:
    table = kept.every()
    why = table["error"].to_pylist()
    broken = {place: reason for place, reason in zip(table["key"].to_pylist(), why, strict=True) if reason}
    rows = np.flatnonzero([reason is None for reason in why])
    if not len(rows):
        first = next(iter(broken.values()), "there are none")
        raise EvaluationError(f"None of the {len(images):,} images of {images.name} can be read; {first}")
    table = table.take(rows)

    def stacked(name: str) -> Any:
        flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(rows), -1)

    features, logits = stacked("features"), stacked("logits")
    return Recorded(
        model=loaded.name,
        digest=kept.folder.name,
        classes=loaded.labels,
        classifies=loaded.classifies,
        exclusive=loaded.head.exclusive,
        linear=features.shape != logits.shape or not np.array_equal(features, logits),
        broken=broken,
        logits=logits,
        features=features,
        entropy=column(table, "entropy").astype(np.float32),
        thumbnails=stacked("thumbnail").reshape(len(rows), SIDE, SIDE, 3),
        scores=stacked("scores"),
        hashes=column(table, "hash"),
        needs=loaded.preprocessing,
        **explained_of(table, method, images, rows),
    )


def explained_of(table: pyarrow.Table, method: str, images: ImageSet, rows: np.ndarray) -> dict[str, Any]:
    """What is known of every picture of which there are maps."""
    return {
        "name": images.name,
        "method": method,
        "labels": images.labels,
        "images": images,
        "rows": rows,
        "keys": [images.place(row) for row in rows.tolist()],
        "splits": np.array([split_of(images, row) for row in rows.tolist()]),
        "target": images.targets[rows],
        "truth": column(table, "truth", UNKNOWN).astype(np.int64),
        "answer": column(table, "answer", UNKNOWN).astype(np.int64),
        "probability": column(table, "probability").astype(np.float32),
        "maps": decoded(table, method),
        "sizes_hw": np.stack([column(table, f"{side}_px") for side in ("height", "width")], 1).astype(np.int64),
    }


def column(table: pyarrow.Table, name: str, otherwise: float | int = np.nan) -> Any:
    return table[name].fill_null(otherwise).to_numpy() if table[name].null_count else table[name].to_numpy()
