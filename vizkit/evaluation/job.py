"""An evaluation that a page watches: its folder with status, outcome and report. No torch: the page reads it at once.

<cache>/evaluations/<name>/status.json    what it does now
<cache>/evaluations/<name>/first2/outcome.npz    of the first 2 models, while others are at work
<cache>/evaluations/<name>/outcome.npz, report.html    when it is done
"""

from pathlib import Path
from typing import Any

from vizkit.datasets.cache import cache_folder
from vizkit.work_folder import WorkFolder


class JobFolder(WorkFolder):
    """The folder of one evaluation."""

    @classmethod
    def of(cls, name: str) -> "JobFolder":
        return cls(cache_folder() / "evaluations" / name)

    @property
    def done(self) -> bool:
        return self.status.get("state") == "done" and self.result.is_file()

    @property
    def result(self) -> Path:
        """Where the outcome of all models lies when it is done."""
        return self.path / "outcome.npz"

    def first(self, models: int) -> Path:
        """Where that of so many models lies while the others are at work."""
        return self.path / f"first{models}" / "outcome.npz"

    @property
    def outcome(self) -> Path | None:
        """The outcome that has most models; None while there is none."""
        if self.done:
            return self.result
        files = self.path.glob("first[0-9]*/outcome.npz")
        return max(files, key=lambda file: (len(file.parent.name), file.parent.name), default=None)

    def say(self, **status: Any) -> None:
        """As any work does, in a folder that is made by its first word."""
        self.path.mkdir(parents=True, exist_ok=True)
        super().say(**status)
