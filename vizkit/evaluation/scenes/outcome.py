"""What came of judging detectors on scenes, kept as one file, so that a page reads it without torch and at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vizkit.evaluation.scenes.boxes import Boxes, Measures

STEPS = 2**16  # boxes are kept to so many parts of the picture, which takes less room, and judged as they are kept


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
