"""An evaluation that a page watches: its folder with status, outcome and report. No torch: the page reads it at once.

<cache>/evaluations/<name>/status.json    what it does now
<cache>/evaluations/<name>/outcome.json, outcome.npz, report.html    when it is done
"""

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
        return self.status.get("state") == "done" and (self.path / "outcome.json").is_file()

    def say(self, **status: Any) -> None:  # noqa: ANN401
        """As any work does, in a folder that is made by its first word."""
        self.path.mkdir(parents=True, exist_ok=True)
        super().say(**status)
