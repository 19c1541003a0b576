"""What each object query tends to answer: all boxes that it said over many pictures (Carion et al. 2020, figure 7)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from vizkit.datasets.scenes.annotated import BoxSet
from vizkit.evaluation.scenes.judging import batches
from vizkit.models.detection.opening import Detector

BATCH = 10
DIGITS = 4
COLUMNS = ("query", "label", "score", "x", "y", "width", "height")


@dataclass(frozen=True)
class Habits:
    """One entry of each array for every box that was said with a score of at least `threshold` in `pictures` pictures.
    `boxes_cxcywh`: middle, width, height as shares of the picture; `scores` from 0 to 1. `all_queries`: how many."""

    pictures: int
    threshold: float
    all_queries: int
    queries: Int[np.ndarray, " box"]
    labels: Int[np.ndarray, " box"]
    scores: Float[np.ndarray, " box"]
    boxes_cxcywh: Float[np.ndarray, "box 4"]

    def of(self, query: int) -> "Habits":
        """What one query said."""
        own, parts = self.queries == query, ("queries", "labels", "scores", "boxes_cxcywh")
        return replace(self, **{name: getattr(self, name)[own] for name in parts})

    def apart(self) -> float:
        """How far a query's boxes lie from their mean, as a share of how far all boxes do: 1 when queries do not differ
        by place, 0 when each has one place. NaN where nothing was said."""
        middles = self.boxes_cxcywh[:, :2]
        if not len(middles):
            return float("nan")
        means = np.array([middles[self.queries == query].mean(0) for query in self.queries])
        spread = ((middles - middles.mean(0)) ** 2).sum()
        return float((((middles - means) ** 2).sum() / spread) ** 0.5) if spread else float("nan")

    def to_json(self) -> dict[str, Any]:
        columns = (self.queries, self.labels, self.scores.round(DIGITS), *self.boxes_cxcywh.T.round(DIGITS))
        return {
            "pictures": self.pictures,
            "threshold": self.threshold,
            "all_queries": self.all_queries,
            "columns": COLUMNS,
            "said": [*zip(*(each.tolist() for each in columns), strict=True)],
        }


def habits(
    detector: Detector, pictures: BoxSet, threshold: float, tell: Callable[[int], None] = lambda done: None
) -> Habits:
    """Run over all pictures; `tell` hears how many are done."""
    rows, done = list[list[float]](), 0
    for some, pixels in batches(detector, pictures, most=BATCH):
        with torch.inference_mode():
            answers = detector.model(pixels.to(detector.model.queries.weight.device))
        scores, labels = answers.logits.float().softmax(-1)[..., :-1].max(-1)
        sure = scores >= threshold
        columns = sure.nonzero()[:, 1], labels[sure], scores[sure], *answers.boxes_cxcywh[sure].T
        rows += torch.stack([column.cpu().double() for column in columns], 1).tolist()
        done += len(some)
        tell(done)
    return _of(rows, len(pictures), threshold, detector.queries)


def habits_from(data: dict[str, Any]) -> Habits:
    """What `Habits.to_json` wrote."""
    return _of(data["said"], data["pictures"], data["threshold"], data["all_queries"])


def _of(rows: list[list[int | float]], pictures: int, threshold: float, all_queries: int) -> Habits:
    queries, labels, scores, *boxes = np.array(rows, float).reshape(-1, len(COLUMNS)).T
    said = queries.astype(int), labels.astype(int), scores, np.stack(boxes, 1)
    return Habits(pictures, threshold, all_queries, *said)
