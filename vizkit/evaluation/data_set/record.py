"""One pass of a model over a labelled set, kept by content: what all that is said of the set is computed from.

    <cache>/data_sets/<key>/part-00007.parquet    as `vizkit.explanations` writes them, whole or not at all

The key is a digest of the weights, the preprocessing, the pictures with their labels, the method and the batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, UInt8, UInt64

from vizkit.datasets.cache import cache_folder
from vizkit.datasets.image_set import ImageSet, digest_of
from vizkit.evaluation.answer_cache import forget_oldest, weights_digest
from vizkit.evaluation.classes import UNKNOWN, EvaluationError
from vizkit.evaluation.data_set.opening import split_of
from vizkit.explanations.data_set import SIDE, Seen, method_for
from vizkit.explanations.job import work
from vizkit.explanations.parts import Run
from vizkit.explanations.source import OfSet, of_set
from vizkit.explanations.table import decoded, opened
from vizkit.image import RGB
from vizkit.models import Loaded
from vizkit.shortage import memory_short

VERSION = 1
PART, BATCH = 128, 32  # pictures: what a sudden end loses, and what goes through the model at once
Tell = Callable[[int, int, float], None]  # pictures done, of how many, pictures a second


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
    `features`.
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

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def known(self) -> Bool[np.ndarray, " picture"]:
        """Whose label the model knows, so that it can be right or wrong."""
        return self.truth != UNKNOWN if self.classifies else np.zeros(len(self), bool)

    @property
    def right(self) -> Bool[np.ndarray, " picture"]:
        return self.known & (self.answer == self.truth)

    @cached_property
    def probabilities(self) -> Float[np.ndarray, "picture class"]:
        from scipy.special import expit, softmax

        logits = self.logits.astype(np.float64)
        return softmax(logits, 1) if self.exclusive else expit(logits)

    @property
    def loss(self) -> Float[np.ndarray, " picture"]:
        """−log of the label's probability, NaN where the model does not know the label."""
        own = self.probabilities[np.arange(len(self)), self.truth.clip(0) % max(1, self.logits.shape[1])]
        return np.where(self.known, -np.log(np.maximum(own, 1e-300)), np.nan)

    def picture(self, row: int) -> RGB:
        """Read again where it lies. Raises DatasetError."""
        return self.images[int(self.rows[row])][0]


def record(
    loaded: Loaded,
    images: ImageSet,
    *,
    method: str = "",
    workers: int = 0,
    tell: Tell = lambda *_: None,
    stopping: Callable[[], bool] = lambda: False,
) -> Recorded:
    """One pass, or what is missing of it, or what is kept. `method`: of the maps, see `analysis.attribution.methods`,
    "" for one that costs little. `stopping` is asked after each batch; raises StoppedError then, EvaluationError in one
    sentence where nothing can be recorded, NotApplicable where the model has no such map.
    """
    method = method or method_for(loaded)
    folder, source = _place(loaded, images, method)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        run = Run.begin(folder, {"pictures": source.digest, "version": VERSION}, source.counts)
        if missing := run.missing():
            done = len(images) - sum(source.counts[number] for number in missing)
            tell(done, len(images), 0.0)
            made_by = Seen(loaded, method)
            how: Any = {"batch": BATCH, "workers": workers, "tell": tell, "stopping": stopping, "compare": False}
            work(source, made_by, run, made_by.loaded, **how)
            forget_oldest(folder)
        return _read(loaded, images, method, folder)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise EvaluationError(f"What was found cannot be kept in {folder.parent}: {why}.") from error
    except (RuntimeError, MemoryError) as error:
        if not (owner := memory_short(error)):
            raise
        raise EvaluationError(f"{loaded.name} needs more memory than {owner} has for a picture.") from error


def is_recorded(loaded: Loaded, images: ImageSet, method: str = "") -> bool:
    folder, source = _place(loaded, images, method or method_for(loaded))
    return all((folder / f"part-{number:05}.parquet").is_file() for number in range(len(source.counts)))


def _place(loaded: Loaded, images: ImageSet, method: str) -> tuple[Any, OfSet]:
    source = of_set(images, PART)
    of = (VERSION, weights_digest(loaded.model), loaded.preprocessing, loaded.labels, source.digest, images.digest)
    return cache_folder() / "data_sets" / digest_of(*of, method, BATCH, SIDE, loaded.device.type), source


def _read(loaded: Loaded, images: ImageSet, method: str, folder: Any) -> Recorded:
    table = opened(folder).table
    why = table["error"].to_pylist()
    places = table["key"].to_pylist()
    broken = {place: reason for place, reason in zip(places, why, strict=True) if reason}
    rows = np.flatnonzero([reason is None for reason in why])
    if not len(rows):
        first = next(iter(broken.items()), ("", "there are none"))
        raise EvaluationError(f"None of the {len(images):,} pictures of {images.name} can be read; {first[1]}")
    table = table.take(rows)

    def column(name: str, otherwise: float | int = np.nan) -> Any:
        return table[name].fill_null(otherwise).to_numpy() if table[name].null_count else table[name].to_numpy()

    def stacked(name: str) -> Any:
        flat = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(rows), -1)

    features, logits = stacked("features"), stacked("logits")
    return Recorded(
        images.name,
        loaded.name,
        method,
        folder.name,
        images.labels,
        loaded.labels,
        loaded.classifies,
        loaded.head.exclusive,
        features.shape != logits.shape or not np.array_equal(features, logits),
        images,
        rows,
        [places[row] for row in rows],
        np.array([split_of(images, row) for row in rows.tolist()]),
        broken,
        images.targets[rows],
        column("truth", UNKNOWN).astype(np.int64),
        column("answer", UNKNOWN).astype(np.int64),
        column("probability").astype(np.float32),
        logits,
        features,
        column("entropy").astype(np.float32),
        decoded(table, method),
        stacked("thumbnail").reshape(len(rows), SIDE, SIDE, 3),
        stacked("scores"),
        column("hash"),
        np.stack([column("height_px"), column("width_px")], 1).astype(np.int64),
    )
