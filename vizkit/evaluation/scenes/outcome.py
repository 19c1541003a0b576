"""What came of judging detectors on scenes, kept as one file, so that a page reads it without torch and at once."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vizkit.evaluation.measures import Interval
from vizkit.evaluation.scenes.boxes import Boxes, Measures
from vizkit.writing import read_record, write_record

FACTS = ("opened", "name", "part", "digest", "labels", "scenes", "notes", "command")
STEPS = 65_535  # boxes are kept to so many parts of the picture, and judged as they are kept


@dataclass(frozen=True, eq=False)
class Judged:
    """One model. `weights`: their digest; `said`: every box that it says, however unsure, of classes of the data."""

    name: str
    licence: str
    parameters: int
    weights: str
    seconds: float
    measures: Measures
    said: Boxes


@dataclass(frozen=True, eq=False)
class SceneOutcome:
    """`opened`: how `open_boxes` was called. `labels`: the classes of the data; `there`: all things of its `scenes`.
    `notes`: sentences for the user; `command`: what judged them, as one types it."""

    opened: Mapping[str, Any]
    name: str
    part: str
    digest: str
    labels: tuple[str, ...]
    scenes: int
    notes: tuple[str, ...]
    there: Boxes
    models: tuple[Judged, ...]
    command: str = ""

    @property
    def things(self) -> list[int]:
        """Of each class."""
        return np.bincount(self.there.labels, minlength=len(self.labels)).tolist()


def save(outcome: SceneOutcome, path: Path) -> None:
    """Whole or not at all."""
    facts = {name: getattr(outcome, name) for name in FACTS}
    facts["judged"] = [
        {name: value for name, value in vars(row).items() if name not in ("said", "measures")}
        | {"measures": asdict(row.measures)}
        for row in outcome.models
    ]
    arrays = _packed("there", outcome.there)
    for number, row in enumerate(outcome.models):
        arrays |= _packed(f"said{number}", row.said)
    write_record(path, facts, arrays)


def _packed(name: str, boxes: Boxes) -> dict[str, np.ndarray]:
    steps = (boxes.boxes_cxcywh * STEPS).round().astype(np.uint16)
    parts = {"scene": boxes.scene.astype(np.uint32), "labels": boxes.labels.astype(np.uint32), "boxes": steps}
    return {f"{name}_{part}": values for part, values in (parts | {"scores": boxes.scores}).items()}


def read(path: Path) -> SceneOutcome:
    """Raises OSError, ValueError or KeyError where there is none, or it cannot be read."""
    facts, arrays = read_record(path)

    def boxes(name: str) -> Boxes:
        scene, labels, steps, scores = (arrays[f"{name}_{part}"] for part in ("scene", "labels", "boxes", "scores"))
        return Boxes(scene.astype(int), labels.astype(int), steps.astype(np.float32) / STEPS, scores)

    judged = tuple(
        Judged(**{**row, "measures": _measures(row["measures"]), "said": boxes(f"said{number}")})
        for number, row in enumerate(facts["judged"])
    )
    facts |= {name: tuple(facts[name]) for name in ("labels", "notes")}
    return SceneOutcome(**{name: facts[name] for name in FACTS if name in facts}, there=boxes("there"), models=judged)


def _measures(facts: Mapping[str, Any]) -> Measures:
    known = {name: Interval(**value) for name, value in facts.items() if isinstance(value, dict)}
    return Measures(**{**known, "by_label": tuple(facts["by_label"])})
