"""Everything at once, as the command and the library make it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vizkit.evaluation.data_set.embedding import Embedding, embedding
from vizkit.evaluation.data_set.hiding import Hidden, by_effect, hide, verdict
from vizkit.evaluation.data_set.opening import open_labelled
from vizkit.evaluation.data_set.probing import Probed, out_of_sample, probed
from vizkit.evaluation.data_set.record import Recorded, record
from vizkit.evaluation.data_set.shortcuts import Cluster, shortcuts
from vizkit.evaluation.data_set.suspects import Suspect, suspects
from vizkit.explanations.job import Stopping, Tell
from vizkit.image import side_of
from vizkit.models import Loaded
from vizkit.traces import NotApplicable, OneLine

TRIED = 3  # clusters whose place is hidden


@dataclass(frozen=True, eq=False, repr=False)
class Look(OneLine):
    """`map` and `probed` are None where the set is too small for them, with the reason in `notes`. `shortcuts`: the
    clusters that stand out most, and what came of hiding what they share."""

    found: Recorded
    map: Embedding | None
    suspects: tuple[Suspect, ...]
    shortcuts: tuple[tuple[Cluster, Hidden | None], ...]
    probed: Probed | None
    notes: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        return [verdict(self.found, cluster, hidden) for cluster, hidden in self.shortcuts]

    def rows(self) -> dict[str, Any]:
        """A column for each thing that is known of every picture, and what it is suspected of."""
        found = self.found
        why: dict[int, list[str]] = {}
        for one in self.suspects:
            why.setdefault(one.row, []).append(f"{one.kind}: {one.said}")
        classes = [*found.classes, *(str(number) for number in range(len(found.classes), found.logits.shape[1]))]
        place = np.full((len(found), 2), np.nan) if self.map is None else self.map.xy
        return {
            "picture": found.keys,
            "split": found.splits.tolist(),
            "label": [found.labels[target] for target in found.target],
            "answer": [classes[answer] if answer >= 0 else None for answer in found.answer],
            "right": [bool(right) if known else None for right, known in zip(found.right, found.known, strict=True)],
            "probability": found.probability.astype(np.float32),
            "loss": found.loss.astype(np.float32),
            "entropy": found.entropy,
            "x": place[:, 0],
            "y": place[:, 1],
            "suspected": ["; ".join(why.get(row, [])) for row in range(len(found))],
        }


def look_over(
    loaded: Loaded,
    found: Recorded,
    *,
    seed: int = 0,
    stopping: Stopping = lambda: False,
) -> Look:
    """All that is told of a recorded set. Raises MissingExtra, StoppedError."""
    notes: list[str] = []

    def tried(make: Callable[[], Any]) -> Any:
        try:
            return make()
        except NotApplicable as reason:
            notes.append(str(reason))
            return None

    plane = tried(lambda: embedding(found, seed=seed))
    told = tried(lambda: out_of_sample(found.features, found.target, seed))
    every = suspects(found, seed, told)
    clusters = shortcuts(found, seed)[:TRIED]
    hidden = [
        tried(lambda cluster=cluster: hide(loaded, found, cluster, stopping=stopping, seed=seed))
        for cluster in clusters
    ]
    pairs = tuple(by_effect(zip(clusters, hidden, strict=True)))
    return Look(found, plane, every, pairs, None if told is None else probed(found, told), tuple(dict.fromkeys(notes)))


def data_set(
    loaded: Loaded,
    data: str | Path,
    split: str = "",
    *,
    images: int | None = None,
    method: str = "",
    tell: Tell = lambda *_: None,
) -> Look:
    """Look over a labelled folder, zip or built-in set with a model. `split`: "train", "train+test"; without one every
    picture of a folder, the test part of other sets. `images`: at most so many. `method`: of the maps, rollout where it
    applies. Raises DatasetError, EvaluationError, NotApplicable and MissingExtra in one sentence."""
    images_of = open_labelled(data, split, images=images, size_px=side_of(loaded.preprocessing))
    return look_over(loaded, record(loaded, images_of, method=method, tell=tell))
