"""Charts as a page drew them: their numbers are in the record, so that neither model nor picture is needed again."""

from dataclasses import dataclass

import numpy as np

from vizkit.figure.saved.panels import Numbers, Panel, PanelsOf
from vizkit.from_json import ReportError
from vizkit.models import Loaded
from vizkit.report.kinds.record import Drawn
from vizkit.views.subject import Subject

__all__ = ["Chart"]


@dataclass(frozen=True)
class Chart:
    """`lines`: what it is of, below the title: models, pictures, settings."""

    title: str
    lines: tuple[str, ...]
    panels: tuple[Panel, ...]

    def stem(self, loaded: Loaded | None) -> str:
        return self.title

    def drawn(self, inputs: Subject) -> Drawn:
        if not all(_whole(panel) for panel in self.panels):
            raise ReportError("The numbers of this chart are not as vizkit writes them.")
        numbers = {}
        for number, panel in enumerate(self.panels, 1):
            numbers |= {f"panel{number}_cells": _array(panel.cells)} if panel.cells else {}
            for index, line in enumerate(panel.lines, 1):
                numbers |= {
                    f"panel{number}_line{index}_{axis}": _array(values)
                    for axis, values in (("x", line.x), ("y", line.y))
                }
            for of, names in (("rows", panel.rows), ("columns", panel.columns)):
                numbers |= {f"panel{number}_{of}": np.array(names, dtype=str)} if names else {}
            numbers[f"panel{number}_names"] = np.array([line.name for line in panel.lines], dtype=str)
        return Drawn(self.title, self.lines, PanelsOf(self.panels), numbers)


def _whole(panel: Panel) -> bool:
    """Whether the numbers belong together: as many x as y, rows of one length, and as many names."""
    rows = {len(row) for row in panel.cells}
    named = len(panel.rows) in (0, len(panel.cells)) and all(len(panel.columns) in (0, width) for width in rows)
    counts = () if panel.bars else (0,)  # bars have names
    lines = all(len(line.x) == len(line.y) and len(line.words) in (*counts, len(line.x)) for line in panel.lines)
    return len(rows) <= 1 and 0 not in rows and named and lines


def _array(values: Numbers | tuple[Numbers, ...]) -> np.ndarray:
    """NaN where a number is not there."""
    return np.array(values, float)
