"""By what a run is judged and its best epoch chosen: its accuracy, unless its task has a better measure. No torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vizkit.percent import in_percent


@dataclass(frozen=True)
class Measure:
    """`name`: as metrics.jsonl says it after `val_`, and result.json after `test_`."""

    name: str
    title: str
    percent: bool = False
    unit: str = ""

    def words(self, value: float) -> str:
        return in_percent(value, 1) if self.percent else f"{value:.3f}" if not self.unit else f"{value:.2f} {self.unit}"


ACCURACY = Measure("accuracy", "accuracy", percent=True)
OTHERS = (Measure("psnr", "PSNR", unit="dB"), Measure("ap50", "AP50"), Measure("pq", "panoptic quality"))
"""Of networks that enlarge, that find things, that say which pixels are theirs."""


def measure_of(lines: Sequence[Mapping[str, Any]]) -> Measure:
    """Of the lines of metrics.jsonl, of one run or of several: what all of them have."""
    return next((each for each in OTHERS if lines and all(f"val_{each.name}" in line for line in lines)), ACCURACY)


def speed_of(lines: Sequence[Mapping[str, Any]]) -> float | None:
    """Training images a second, median over the epochs; None before the first has ended."""
    speeds = sorted(line["images_per_s"] for line in lines)
    return speeds[len(speeds) // 2] if speeds else None


def merit(line: Mapping[str, Any]) -> tuple[float, float]:
    """By which the best epoch is chosen; of texts, none of which is wholly right at first, then by single answers."""
    return line[f"val_{measure_of([line]).name}"], line.get("val_answers_right", 0.0)


def best_of(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first of the epochs with the highest merit, whose weights are kept."""
    return max(lines, key=merit)
